"""The artifact is exactly one, and what its digest says; its version is told, never guessed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gate.errors import ArtifactError, ConfigError
from gate.plan.artifact import find_artifact, wheel_version
from gate.plan.config import Artifact, VersionSource
from gate.plan.model import ArtifactPlan
from gate.plan.version import product_version, read_version

DIGEST = "sha256:" + "a" * 64


def test_a_glob_finds_exactly_one_file(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "old").mkdir()
    path = tmp_path / "dist" / "p-1.0-py3-none-any.whl"
    path.write_bytes(b"x" * 3_000_000)
    found = find_artifact(Artifact.model_validate("dist/*.whl"), tmp_path)
    digest = f"sha256:{hashlib.sha256(b'x' * 3_000_000).hexdigest()}"
    assert found == ArtifactPlan("file", str(path), path.name, digest, 3_000_000)
    assert find_artifact(Artifact.model_validate(str(path)), Path("/")) == found
    (tmp_path / "sub").mkdir()
    assert find_artifact(Artifact.model_validate("../dist/*.whl"), tmp_path / "sub") == found


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], "no file matches 'dist/*.whl'"),
        (["p-1.whl", "p-2.whl"], "2 files match 'dist/*.whl'"),
        (["p-1.whl/"], "only p-1.whl, which is no file"),
    ],
)
def test_no_file_and_two_files_are_errors(tmp_path: Path, names: list[str], says: str) -> None:
    (tmp_path / "dist").mkdir()
    for name in names:
        if name.endswith("/"):
            (tmp_path / "dist" / name).mkdir()
        else:
            (tmp_path / "dist" / name).touch()
    with pytest.raises(ArtifactError) as caught:
        find_artifact(Artifact.model_validate("dist/*.whl"), tmp_path)
    assert says in str(caught.value)


def test_a_file_that_is_not_what_its_digest_says(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"other")
    with pytest.raises(ArtifactError, match=f"expected {DIGEST}, found sha256:"):
        find_artifact(Artifact.model_validate({"file": "a.bin", "digest": DIGEST}), tmp_path)


def test_urls_and_images_keep_their_digest(tmp_path: Path) -> None:
    url = find_artifact(
        Artifact.model_validate({"url": "https://h/x/p-1.0-py3-none-any.whl?t=1", "digest": DIGEST}), tmp_path
    )
    assert (url.kind, url.name, url.digest) == ("url", "p-1.0-py3-none-any.whl", DIGEST)
    for form in ({"image": "repo/app:1", "digest": DIGEST}, {"image": f"repo/app:1@{DIGEST}"}):
        image = find_artifact(Artifact.model_validate(form), tmp_path)
        assert (image.source, image.name, image.digest) == (f"repo/app:1@{DIGEST}", "repo/app:1", DIGEST)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("hyperloom-0.9.1-py3-none-any.whl", "0.9.1"),
        ("a_b-1.0rc1.dev2+rocm6.4-1-cp311-cp311-manylinux_2_28_x86_64.whl", "1.0rc1.dev2+rocm6.4"),
        ("product.tar.gz", None),
    ],
)
def test_the_version_of_a_wheel_is_in_its_name(name: str, version: str | None) -> None:
    assert wheel_version(name) == version


WHEEL = ArtifactPlan("file", "/p-1.2.0-py3-none-any.whl", "p-1.2.0-py3-none-any.whl", DIGEST, 1)
TOML = VersionSource.model_validate("pyproject.toml")


def test_where_a_version_comes_from_in_order(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    other = ArtifactPlan("file", "/x", "x.bin", DIGEST, 1)
    assert product_version("9", TOML, WHEEL, tmp_path) == "9"
    assert product_version(None, TOML, WHEEL, tmp_path) == "1.2.0"
    assert product_version(None, None, WHEEL, tmp_path) == "1.2.0"
    assert product_version(None, None, other, tmp_path) == "a" * 12


def test_a_stale_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.3.0"\n')
    with pytest.raises(ArtifactError, match=r"is version 1\.2\.0, pyproject\.toml says 1\.3\.0"):
        product_version(None, TOML, WHEEL, tmp_path)
    assert product_version("1.2.0", TOML, WHEEL, tmp_path) == "1.2.0"


@pytest.mark.parametrize(
    ("name", "key", "content"),
    [
        ("pyproject.toml", None, '[project]\nversion = "1.5"\n'),
        ("package.json", None, '{"version": "1.5"}'),
        ("chart.yaml", "app.version", "app: {version: '1.5'}\n"),
        ("src/v.py", "__version__", 'x = 1\n__version__: str = "1.5"\n'),
        ("Makefile", "VERSION", "VERSION = '1.5'\n"),
    ],
)
def test_files_that_hold_a_version(tmp_path: Path, name: str, key: str | None, content: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    assert read_version(VersionSource(file=name, key=key), tmp_path) == "1.5"
    assert read_version(VersionSource(file=name, key=key), tmp_path, content.replace("1.5", "1.6")) == "1.6"


@pytest.mark.parametrize(
    ("name", "key", "content", "says"),
    [
        ("v.txt", None, "1.0", "without a key"),
        ("gone.toml", "a", None, "cannot be read"),
        ("pyproject.toml", None, "[project]\n", "has no text at 'project.version', found None"),
        ("pyproject.toml", None, "[project\n", "is malformed"),
        ("package.json", None, '{"version": 1}', "found 1"),
    ],
)
def test_a_version_that_cannot_be_read(
    tmp_path: Path, name: str, key: str | None, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=says):
        read_version(VersionSource(file=name, key=key), tmp_path)
