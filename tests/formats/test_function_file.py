"""The file of a function: written whole, read back exactly; anything else is a FileError."""

import json
import os

import h5py
import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import diff, ops
from pinnsolve.errors import DeviceError, FileError
from pinnsolve.formats.exporting import export
from pinnsolve.formats.function_file import SCHEMA, read_function_file, write_function_file
from pinnsolve.nets.checkpoint import save_parameters
from pinnsolve.solutions.loading import load
from pinnsolve.solutions.solution import Solution
from tests.waves import string

NET = ps.MLP(2, 1, 4, 1).initialize(seed=0)
TABLE = np.arange(1.0, 41.0).reshape(20, 2) / 7
X = np.array([0.3, 0.4])


def function(x):
    """A network, a loop and a constant with a dataset of its own."""
    swung = diff.scan(lambda c, _: (ops.tanh(c + NET(x)), c), np.zeros(1), length=3)
    return {"loop": swung, "product": ops.matmul(TABLE, x)}


@pytest.fixture
def file(tmp_path):
    return export(function, tmp_path / "function.h5", X, parameters=NET.named_parameters())


def read(path):
    return load(path, device="reference")


# --- what is written -----------------------------------------------------------------------------


def test_the_file_is_data_that_anyone_can_read(file):
    with h5py.File(file) as opened:
        assert set(opened) == {"header", "parameters", "constants"}
        assert np.array_equal(opened["constants/0"], TABLE)
        named = NET.named_parameters()
        assert set(opened["parameters"]) == set(named)
        for name, dataset in opened["parameters"].items():
            assert np.array_equal(dataset, named[name].value)
        assert opened.attrs["format"] == b"pinnsolve-function"
        assert opened.attrs["schema"] == SCHEMA
        assert opened.attrs["version"].decode() == ps.__version__
        header = json.loads(opened["header"][()].tobytes())
    assert header["arguments"] == {"tuple": [{"shape": [2]}]}
    assert header["results"]["dict"][1] == ["product", {"shape": [20]}]


def test_arrays_come_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "parameters/a": rng.normal(size=(3, 4)) * 1e-300,
        "parameters/b c": np.array(np.nextafter(1, 2)),
        "constants/0": np.array([np.nan, -np.inf, -0.0]),
        "constants/1": np.zeros((0, 3)),
    }
    header, found = read_function_file(write_function_file(tmp_path / "f.h5", {"a": [1]}, arrays))
    assert header == {"a": [1]}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape


def test_equal_functions_are_equal_files(file, tmp_path):
    again = export(function, tmp_path / "f.h5", 2 * X, parameters=NET.named_parameters())
    assert again.read_bytes() == file.read_bytes()


def test_a_file_is_written_whole_or_not_at_all(file, monkeypatch):
    before = file.read_bytes()

    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match=r"cannot write .*function\.h5: no space left on device"):
        export(lambda x: x, file, X)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_folders_are_made_and_files_in_the_way_are_named(file):
    assert read(export(ops.sin, file.parent / "a" / "b" / "f.h5", 0.0))(0.5) == np.sin(0.5)
    with pytest.raises(FileError, match="cannot write"):
        export(ops.sin, file / "f.h5", 0.0)


# --- which file it is ----------------------------------------------------------------------------


def test_load_knows_the_files_of_the_library(file, tmp_path):
    solved = string().save(tmp_path / "solution.h5")
    with pytest.raises(DeviceError, match=r"solution\.h5 holds a solution, which takes no device"):
        load(solved, device="cpu")
    assert read(file)(X).keys() == {"loop", "product"}


def test_a_solution_is_loaded_as_before(monkeypatch, tmp_path):
    found = []
    monkeypatch.setattr("pinnsolve.solutions.solution.load", found.append)
    path = string().save(tmp_path / "solution.h5")
    load(path)
    assert found == [path]
    assert isinstance(string(), Solution)


def test_other_files_are_refused(file, tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        load(tmp_path / "nothing.h5")
    with pytest.raises(FileError, match="there is no file"):
        load(tmp_path)
    text = tmp_path / "text.h5"
    text.write_text("import os")
    with pytest.raises(FileError, match=r"text\.h5 is not an HDF5 file, or it is damaged"):
        load(text)
    with h5py.File(tmp_path / "other.h5", "w") as opened:
        opened["x"] = [1.0]
    parameters = tmp_path / "parameters.h5"
    layout = diff.parameters.Layout.of(NET.named_parameters())
    save_parameters(parameters, layout, np.zeros(layout.size))
    for path in (tmp_path / "other.h5", parameters):
        with pytest.raises(FileError, match="neither a solution nor an exported function"):
            load(path)
        with pytest.raises(FileError, match="not one that export wrote"):
            read_function_file(path)


def test_an_unknown_device_is_named(file):
    with pytest.raises(DeviceError, match="no device 'gpu'"):
        load(file, device="gpu")


# --- damage --------------------------------------------------------------------------------------


def test_random_damage_is_found(file):
    """Bytes changed or cut off at 200 places: a FileError, or the very same numbers."""
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    expected = read(file)(X)
    refused = 0
    for k in range(200):
        data, place = bytearray(whole), int(rng.integers(len(whole)))
        match k % 4:
            case 0:
                data[place] ^= 1 << int(rng.integers(8))
            case 1:
                data[place] = int(rng.integers(256))
            case 2:
                data[place : place + 16] = rng.bytes(16)
            case 3:
                data = data[:place]
        file.write_bytes(data)
        try:
            loaded = read(file)
        except FileError:
            refused += 1
            continue
        found = loaded(X)
        assert np.array_equal(found["product"], expected["product"])
        for a, b in zip(found["loop"], expected["loop"], strict=True):
            assert np.array_equal(a, b)
    assert refused > 150


def newer(opened):
    opened.attrs["schema"] = SCHEMA + 1
    opened.attrs["version"] = np.bytes_("9.8")


def attribute(name, value):
    return lambda opened: opened.attrs.__setitem__(name, value)


def without(name):
    def change(opened):
        del opened[name]

    return change


def put(name, value, **options):
    """Something else under a name."""

    def change(opened):
        if name in opened:
            del opened[name]
        opened.create_dataset(name, data=value, **options)

    return change


def linked(name, link):
    def change(opened):
        del opened[name]
        opened[name] = link

    return change


def virtual(opened):
    layout = h5py.VirtualLayout((20, 2), "f8")
    layout[...] = h5py.VirtualSource("/etc/passwd", "x", (20, 2))
    del opened["constants/0"]
    opened.create_virtual_dataset("constants/0", layout)


def external(opened):
    del opened["constants/0"]
    opened.create_dataset("constants/0", (20, 2), "f8", external=[("/etc/passwd", 0, 320)])


def empty(opened):
    """An array larger than any disk, of which nothing was ever written."""
    del opened["constants/0"]
    opened.create_dataset("constants/0", (2**40, 2**10), "f8")


def repeated(opened):
    """One array under very many names."""
    big = opened.create_dataset("constants/big", data=np.zeros(10_000))
    for k in range(1, 200):
        opened[f"constants/{k}"] = big


def nothing(opened):
    del opened["constants/0"]
    opened.create_dataset("constants/0", data=h5py.Empty("f8"))


def folder(opened):
    del opened["constants/0"]
    opened.create_group("constants/0")


def committed(opened):
    del opened["constants/0"]
    opened["constants/0"] = np.dtype("f8")


def circle(opened):
    opened["constants/1"] = opened["constants"]


HOSTILE = {
    "newer": (newer, rf"written by pinnsolve 9\.8 \(schema {SCHEMA + 1}\); .* upgrade"),
    "no schema": (attribute("schema", "new"), "does not say its schema"),
    "schema of zero": (attribute("schema", 0), "does not say its schema"),
    "schema of an array": (attribute("schema", [1, 1]), "does not say its schema"),
    "no format": (attribute("format", 3), "neither a solution nor an exported function"),
    "format of an array": (attribute("format", np.zeros(9)), "neither a solution nor"),
    "another digest": (attribute("digest", np.bytes_("0" * 32)), "its digest is not that"),
    "no digest": (attribute("digest", np.zeros((3, 3))), "its digest is not that"),
    "another number": (
        lambda opened: opened["constants/0"].__setitem__((3, 1), 1.0), "its digest is not that"
    ),
    "no header": (without("header"), "it holds"),
    "no groups": (without("parameters"), "it holds"),
    "something besides": (put("code", 1.0), "it holds"),
    "no constants": (without("constants/0"), "its digest is not that"),
    "header of text": (put("header", "{}"), "header is no plain array"),
    "header of numbers": (put("header", np.zeros(9)), "header is no plain array"),
    "single precision": (put("constants/0", TABLE.astype("f4")), "0 is no plain array"),
    "other bytes": (put("constants/0", TABLE.astype(">f8")), "0 is no plain array"),
    "whole numbers": (put("constants/0", TABLE.astype(int)), "0 is no plain array"),
    "objects": (put("constants/0", ["a", "b"]), "0 is no plain array"),
    "records": (put("constants/0", np.zeros(3, [("a", "f8")])), "0 is no plain array"),
    "packed": (put("constants/0", TABLE, compression="gzip"), "0 is no plain array"),
    "in pieces": (put("constants/0", TABLE, chunks=(5, 1)), "0 is no plain array"),
    "nothing": (nothing, "0 is no plain array"),
    "larger than any disk": (empty, "0 is no plain array"),
    "one array many times": (repeated, "is no plain array"),
    "virtual": (virtual, "0 is no plain array"),
    "in another file": (external, "0 is no plain array"),
    "a soft link": (linked("constants/0", h5py.SoftLink("/header")), "0 is no dataset"),
    "a link to another file": (
        linked("constants/0", h5py.ExternalLink("/etc/passwd", "/")), "0 is no dataset"
    ),
    "a link as a group": (
        linked("parameters", h5py.ExternalLink("/etc/passwd", "/")), "parameters is no group"
    ),
    "a link to nowhere": (linked("header", h5py.SoftLink("/nowhere")), "header is no dataset"),
    "a folder": (folder, "0 is no dataset"),
    "a type": (committed, "0 is no dataset"),
    "a circle": (circle, "1 is no dataset"),
    "an array as group": (put("parameters", 1.0), "parameters is no group"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, file):
    change, message = HOSTILE[name]
    with h5py.File(file, "r+") as opened:
        change(opened)
    with pytest.raises(FileError, match=rf"function\.h5.*{message}"):
        read(file)


def shape(*sizes):
    return {"tuple": [{"shape": list(sizes)}]}


def tower(height):
    tree = None
    for _ in range(height):
        tree = {"tuple": [tree]}
    return tree


# What is wrong with a header whose digest is right.
HEADERS = {
    "a number": 3,
    "a list": [],
    "null": None,
    "no function": {"function": None},
    "arguments of no kind": {"arguments": {"set": []}},
    "arguments of two kinds": {"arguments": {"tuple": [], "list": []}},
    "arguments that are no tuple": {"arguments": {"list": [{"shape": [2]}]}},
    "arguments of code": {"arguments": "lambda: 0"},
    "no arguments": {"arguments": {"tuple": []}},
    "a shape of text": {"arguments": shape("2")},
    "a shape of decimals": {"arguments": shape(2.0)},
    "a true shape": {"arguments": shape(True)},
    "a negative shape": {"arguments": shape(-2)},
    "another shape": {"arguments": shape(3)},
    "a shape without end": {"arguments": shape(10**30)},
    "a shape of many axes": {"arguments": shape(*[1] * 500)},
    "a key of a list": {"results": {"dict": [[[], {"shape": [20]}]]}},
    "a key twice": {"results": {"dict": [["a", {"shape": [20]}]] * 4}},
    "a long key": {"results": {"dict": [["a", "b", "c"]]}},
    "other results": {"results": shape(20)},
    "a tower": {"results": tower(300)},
    "parameters of numbers": {"parameters": [1, 2]},
    "other parameters": {"parameters": [["w", True]]},
    "parameters trained by text": {"parameters": [[n, "yes"] for n in NET.named_parameters()]},
    "parameters of lists": {"parameters": [[[], True]]},
}


@pytest.mark.parametrize("name", HEADERS)
def test_hostile_headers_are_refused(name, file):
    header, arrays = read_function_file(file)
    change = HEADERS[name]
    changed = header | change if isinstance(change, dict) else change
    write_function_file(file, changed, arrays)
    with pytest.raises(FileError, match=r"function\.h5"):
        read(file)


def test_text_that_is_no_header_is_refused(file, monkeypatch):
    _, arrays = read_function_file(file)
    for text in ("", "{", "nul", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "NaN", "\0"):
        monkeypatch.setattr(json, "dumps", lambda header, text=text: text)
        write_function_file(file, {}, arrays)
        with pytest.raises(FileError, match=r"function\.h5"):
            read(file)


def test_a_parameter_of_another_shape_is_refused(file):
    header, arrays = read_function_file(file)
    for name in list(arrays):
        write_function_file(file, header, arrays | {name: np.zeros((2, 5))})
        with pytest.raises(FileError, match=r"function\.h5: the graph in the file is damaged"):
            read(file)
