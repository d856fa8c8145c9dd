"""Pictures of shapes show their parts by name, with normals that leave the shape."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import pinnsolve as ps

CHANNEL = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((0.5, 0.5), 0.2, name="cylinder")


def test_parts_are_drawn_where_they_are(tmp_path):
    axes = ps.plot_domain(CHANNEL, points=50, path=tmp_path / "channel.png")
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert np.allclose(lines["left"][:, 0], 0)
    assert np.allclose(np.hypot(*(lines["cylinder"] - 0.5).T), 0.2)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["left", "right", "bottom", "top", "cylinder"]
    assert (tmp_path / "channel.png").stat().st_size > 1000


def test_given_axes_are_drawn_into():
    axes = Figure().add_subplot()
    assert ps.plot_domain(CHANNEL, points=0, axes=axes) is axes


@pytest.mark.parametrize(
    "shape", [ps.Interval(0, 1), ps.Sphere((0, 0, 0), 1)], ids=["line", "space"]
)
def test_lines_and_space(shape):
    axes = ps.plot_domain(shape, points=20)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == list(shape.parts)
