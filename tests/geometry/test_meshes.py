"""Meshes, clouds of points and polygons from files, against the closed forms of what they are."""

import json
from pathlib import Path

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from pinnsolve.geometry.sampling import sample, sobol_stream
from pinnsolve.geometry.triangles import closest

trimesh = pytest.importorskip("trimesh")
shapely = pytest.importorskip("shapely")


@pytest.fixture(scope="module")
def ell() -> ps.Mesh:
    """An L of height 1, from the box (0, 2)² without (1, 2)², with the names of its directions."""
    plan = shapely.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    corners = np.array(plan.exterior.coords[:-1])
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    vertices = [(*c, z) for z in (0, 1) for c in corners]
    faces = [(a, c, b) for a, b, c in flat] + [(a + 6, b + 6, c + 6) for a, b, c in flat]
    for k in range(6):
        j = (k + 1) % 6
        faces += [(k, j, j + 6), (k, j + 6, k + 6)]

    def names(centres: np.ndarray, normals: np.ndarray) -> list[str]:
        assert centres.shape == normals.shape
        return ["lid" if n[2] > 0.5 else "floor" if n[2] < -0.5 else "wall" for n in normals]

    return ps.Mesh((vertices, faces), name=names)


def test_a_mesh_is_the_solid_that_it_bounds(ell: ps.Mesh) -> None:
    solid = (ps.Rectangle((0, 0), (2, 2)) - ps.Rectangle((1, 1), (3, 3))).extrude(0, 1)
    points = np.random.default_rng(0).uniform(-0.5, 2.5, (2000, 3))
    # The distance of a set operation is exact on the one side only; the sign always is.
    assert np.array_equal(ell.contains(points), solid.contains(points))
    assert ell.measure == pytest.approx(3)
    areas = {name: part.measure for name, part in ell.parts.items()}
    assert areas == pytest.approx({"lid": 3, "floor": 3, "wall": 8})
    assert ell.bounds == ((0, 2), (0, 2), (0, 1))


def test_distances_of_a_mesh_are_those_to_its_triangles(ell: ps.Mesh) -> None:
    """Against a brute search over points of all triangles, at edges and corners, too."""
    points = np.random.default_rng(1).uniform(-0.5, 2.5, (100, 3))
    steps = np.linspace(0, 1, 41)
    a, b = (v[np.add.outer(steps, steps).ravel() <= 1] for v in _grid(steps))
    weights = np.stack([1 - a - b, a, b], axis=1)
    surface = np.einsum("kc,mcd->mkd", weights, ell.surface.corners).reshape(-1, 3)
    brute = np.linalg.norm(points[:, None] - surface, axis=2).min(axis=1)
    ours = np.abs(ell.distance(points))
    assert np.all(ours <= brute + 1e-12)
    assert np.all(brute <= np.hypot(ours, 0.06))


def _grid(steps: np.ndarray) -> list[np.ndarray]:
    return [v.ravel() for v in np.meshgrid(steps, steps, indexing="ij")]


def test_the_nearest_point_of_a_triangle() -> None:
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    points = np.array([[0.2, 0.2, 1], [-1, -1, 0], [0.5, -2, 0], [1, 1, 0], [3, -1, 0]])
    weights, gaps = closest(points, np.tile(triangle, (5, 1, 1)))
    assert gaps == pytest.approx([1, np.sqrt(2), 2, np.sqrt(0.5), np.sqrt(5)])
    expected = [[0.6, 0.2, 0.2], [1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5], [0, 1, 0]]
    assert weights == pytest.approx(np.array(expected))


def test_points_and_normals_of_a_mesh_obey_gauss(ell: ps.Mesh) -> None:
    flux = 0.0
    for part in ell.parts.values():
        points = sample(part, 4096, sobol_stream(3, 0))
        normals = part.normals(points)
        assert np.abs(ell.distance(points)).max() < 1e-12
        assert ell.contains(points - 1e-3 * normals).mean() > 0.99
        assert not ell.contains(points + 1e-3 * normals).any()
        flux += part.measure * np.mean((points * normals).sum(axis=1))
    assert flux == pytest.approx(3 * ell.measure, rel=2e-3)
    inside = sample(ell, 4096, sobol_stream(3, 0))
    assert inside.mean(axis=0) == pytest.approx([5 / 6, 5 / 6, 0.5], abs=0.02)


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply"])
def test_files_of_a_ball(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ball.{suffix}"
    trimesh.creation.icosphere(subdivisions=3).export(path)
    ball = ps.Mesh(path)
    assert repr(ball) == f"Mesh({str(path)!r})"
    # Flat triangles between points of the sphere: less by the square of their size.
    assert ball.measure == pytest.approx(4 / 3 * np.pi, rel=0.02)
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (500, 3))
    assert ball.distance(points) == pytest.approx(np.linalg.norm(points, axis=1) - 1, abs=0.02)


def test_a_mesh_can_be_cut_and_moved() -> None:
    block = trimesh.creation.box((2, 2, 2))
    cube = ps.Mesh((block.vertices, block.faces), name="side")
    cut = cube.translate((1, 0, 0)) - ps.Sphere((1, 0, 0), 0.5, name="hole")
    assert set(cut.parts) == {"side", "hole"}
    assert cut.contains([(1, 0, 0), (0.2, 0.9, 0.9), (-0.1, 0, 0)]).tolist() == [False, True, False]
    points = sample(cut.hole, 100, sobol_stream(3, 0))
    assert cut.hole.normals(points) == pytest.approx((np.array([1, 0, 0]) - points) / 0.5)


def test_a_mesh_that_is_not_closed_is_refused_by_its_file(tmp_path: Path) -> None:
    block = trimesh.creation.box((1, 1, 1))
    block.update_faces(np.arange(len(block.faces)) > 0)
    path = tmp_path / "open.stl"
    block.export(path)
    with pytest.raises(ProblemError, match="not closed: 3 sides") as caught:
        ps.Mesh(path)
    assert caught.value.code == "PS-E081"
    assert "open.stl" in str(caught.value)


def test_what_is_no_mesh_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="there is no such file"):
        ps.Mesh(tmp_path / "none.stl")
    (tmp_path / "text.obj").write_text("nothing here")
    with pytest.raises(ProblemError, match=r"no triangles|cannot be read"):
        ps.Mesh(tmp_path / "text.obj")
    flat = ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)])
    with pytest.raises(ProblemError, match="has no area"):
        ps.Mesh(flat)
    block = trimesh.creation.box((1, 1, 1))
    with pytest.raises(ProblemError, match="2 names for 12 faces"):
        ps.Mesh((block.vertices, block.faces), name=("a", "b"))


def test_values_on_a_mesh_are_trained_and_the_report_says_why() -> None:
    from pinnsolve.pde.ansatz import impose
    from pinnsolve.pde.system import normalize

    block = trimesh.creation.box((1, 1, 1))
    cube = ps.Mesh((block.vertices, block.faces))
    u = ps.field("u", *ps.coordinates("x y z"))
    problem = ps.Problem(ps.laplace(u), ps.on(cube.boundary, {u: 1}), domain=cube)
    forms, reasons = impose(normalize(problem))
    assert forms == ()
    assert "no expression" in reasons["u on surface"]


def test_a_cloud_of_points_is_the_ball_that_it_bounds() -> None:
    points = sample(ps.Sphere((0, 0, 1), 2).sphere, 2048, sobol_stream(3, 0))
    names = ["upper" if p[2] > 1 else "lower" for p in points]
    ball = ps.PointCloud(points, points - [0, 0, 1], name=names)
    assert ball.measure == pytest.approx(4 / 3 * np.pi * 8, rel=0.1)
    assert ball.upper.measure == pytest.approx(8 * np.pi, rel=0.1)
    places = np.random.default_rng(0).uniform(-2.2, 2.2, (500, 3)) + np.array([0, 0, 1])
    away = np.linalg.norm(places - [0, 0, 1], axis=1) - 2
    assert ball.distance(places) == pytest.approx(away, abs=0.1)
    drawn = sample(ball.upper, 100, sobol_stream(3, 0))
    assert drawn[:, 2].min() > 1
    assert ball.upper.normals(drawn) == pytest.approx((drawn - [0, 0, 1]) / 2)
    assert np.linalg.norm(sample(ball, 500, sobol_stream(3, 0)) - [0, 0, 1], axis=1).max() < 2.1


@pytest.mark.parametrize(
    ("points", "normals", "options", "message"),
    [
        (np.ones((20, 2)), np.ones((20, 3)), {}, "do not fit together"),
        (np.ones((5, 2)), np.ones((5, 2)), {}, "do not fit together"),
        (np.eye(20, 2), np.eye(20, 2), {}, "a normal is 0, in row 2"),
        (np.ones((20, 2)), np.ones((20, 2)), {"name": ("a",)}, "1 names for 20 points"),
    ],
)
def test_what_is_no_cloud_is_refused(points, normals, options, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        ps.PointCloud(points, normals, **options)


FRAME = "POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))"


def test_polygons_from_texts_files_and_shapely(tmp_path: Path) -> None:
    path = tmp_path / "frame.wkt"
    path.write_text(FRAME)
    frame = ps.read_polygons(FRAME)
    assert frame.measure == pytest.approx(11)
    measures = {name: part.measure for name, part in frame.parts.items()}
    assert measures == pytest.approx({"outer": 14, "hole": 4})
    assert frame.contains([(0.5, 0.5), (1.5, 1.5)]).tolist() == [True, False]
    for source in (path, str(path), shapely.from_wkt(FRAME)):
        assert ps.read_polygons(source) == frame


def test_features_of_geojson_have_their_names(tmp_path: Path) -> None:
    squares = [[[k, 0], [k + 1, 0], [k + 1, 1], [k, 1], [k, 0]] for k in (0, 3)]
    features = [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [square]},
        }
        for name, square in zip(("west", "east"), squares, strict=True)
    ]
    path = tmp_path / "two.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    both = ps.read_polygons(path)
    assert {n: p.measure for n, p in both.parts.items()} == pytest.approx({"west": 4, "east": 4})


def test_what_is_no_polygon_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="there is no such file"):
        ps.read_polygons(tmp_path / "none.wkt")
    with pytest.raises(ProblemError, match="a Point is no polygon"):
        ps.read_polygons("POINT (0 0)")
    with pytest.raises(ProblemError, match="no polygon can be read"):
        ps.read_polygons("POLYGON ((0 0, 1")
    with pytest.raises(ProblemError, match="no polygon can be read"):
        ps.read_polygons('{"kind": "Polygon"}')
    with pytest.raises(ProblemError, match="there is no polygon"):
        ps.read_polygons('{"type": "FeatureCollection", "features": []}')
