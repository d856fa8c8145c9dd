"""Parameter values in files: the same bits come back, other files are refused."""

import h5py
import numpy as np
import pytest

from pinnsolve.diff.parameters import Layout
from pinnsolve.errors import FileError, NetworkError
from pinnsolve.nets import MLP
from pinnsolve.nets.checkpoint import load_parameters, save_parameters


def layout_of(*sizes):
    return Layout.of(MLP(*sizes).named_parameters())


@pytest.fixture
def saved(tmp_path):
    layout = layout_of(2, 1, 5, 2)
    theta = np.random.default_rng(0).normal(size=layout.size)
    theta[:3] = [np.pi, -0.0, 5e-324]
    return save_parameters(tmp_path / "net.h5", layout, theta), theta


def test_values_come_back_to_the_last_bit(saved):
    path, theta = saved
    found = load_parameters(path, layout_of(2, 1, 5, 2))
    assert found.tobytes() == theta.tobytes()


def test_the_order_of_the_names_does_not_matter(saved):
    path, theta = saved
    layout = layout_of(2, 1, 5, 2)
    turned = Layout(layout.names[::-1], layout.parameters[::-1])
    views = turned.views(load_parameters(path, turned))
    for parameter, value in layout.views(theta).items():
        assert np.array_equal(views[parameter], value)


def test_folders_are_made_and_no_part_is_left(tmp_path):
    layout = layout_of(1, 1, 2, 1)
    path = save_parameters(tmp_path / "a" / "b.h5", layout, np.zeros(layout.size))
    save_parameters(str(path), layout, np.ones(layout.size))
    assert [p.name for p in path.parent.iterdir()] == ["b.h5"]
    assert load_parameters(str(path), layout).sum() == layout.size


def test_a_failed_write_keeps_the_old_file(saved, monkeypatch):
    path, theta = saved

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr("pinnsolve.nets.checkpoint.os.replace", fail)
    layout = layout_of(2, 1, 5, 2)
    with pytest.raises(FileError, match=r"cannot write .*net\.h5: disk full"):
        save_parameters(path, layout, 0 * theta)
    assert [p.name for p in path.parent.iterdir()] == ["net.h5"]
    assert np.array_equal(load_parameters(path, layout), theta)


def test_another_depth_is_named(saved):
    path, _ = saved
    with pytest.raises(FileError, match=r"lacks cells\.3\.weight, cells\.3\.bias"):
        load_parameters(path, layout_of(2, 1, 5, 3))
    with pytest.raises(FileError, match=r"has cells\.2\.(weight|bias), .* besides"):
        load_parameters(path, layout_of(2, 1, 5, 1))


def test_another_width_is_named(saved):
    path, _ = saved
    with pytest.raises(FileError, match=r"cells\.0\.weight is float64 of shape \(2, 5\).*\(2, 6\)"):
        load_parameters(path, layout_of(2, 1, 6, 2))


def test_files_that_hold_no_parameters(saved, tmp_path):
    path, _ = saved
    layout = layout_of(2, 1, 5, 2)
    with pytest.raises(FileError, match="there is no file"):
        load_parameters(tmp_path / "none.h5", layout)
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(FileError, match="not a file of parameters, or damaged"):
        load_parameters(tmp_path / "text.h5", layout)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["parameters"] = 1.0
    with pytest.raises(FileError, match="not one of network parameters"):
        load_parameters(tmp_path / "other.h5", layout)
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.attrs["format"] = "pinnsolve-parameters"
    with pytest.raises(FileError, match="damaged"):
        load_parameters(tmp_path / "empty.h5", layout)
    cut = tmp_path / "cut.h5"
    cut.write_bytes(path.read_bytes()[:-900])
    with pytest.raises(FileError, match="damaged"):
        load_parameters(cut, layout)


def test_values_of_another_kind(saved):
    path, _ = saved
    with h5py.File(path, "r+") as file:
        del file["parameters/cells.0.bias"]
        file["parameters/cells.0.bias"] = np.array([["a"] * 5], dtype="S1")
    with pytest.raises(FileError, match=r"cells\.0\.bias is \|S1"):
        load_parameters(path, layout_of(2, 1, 5, 2))


def test_a_damaged_block_is_found(saved):
    path, theta = saved
    data = bytearray(path.read_bytes())
    at = bytes(data).find(theta[10:15].tobytes())
    assert at > 0
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(FileError, match="damaged"):
        load_parameters(path, layout_of(2, 1, 5, 2))


def test_values_of_a_wrong_length(tmp_path):
    layout = layout_of(1, 1, 1, 1)
    with pytest.raises(NetworkError, match="expected 4 parameters"):
        save_parameters(tmp_path / "net.h5", layout, np.zeros(5))
    assert not list(tmp_path.iterdir())
