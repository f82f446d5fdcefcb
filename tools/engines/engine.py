"""Engines from Maven's artifacts, started without a build: Java compiles the one file of each."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
_POM = "{http://maven.apache.org/POM/4.0.0}"


class Engine:
    """The artifacts of a pom.xml, in its version or another."""

    def __init__(self, name: str, version: str | None = None) -> None:
        pom = ElementTree.parse(HERE / name / "pom.xml").getroot()
        self.name = name
        self.version = version or str(pom.findtext(f"{_POM}properties/{_POM}engine.version"))
        artifacts = pom.iterfind(f"{_POM}dependencies/{_POM}dependency")
        coordinates = (
            tuple(each.findtext(f"{_POM}{part}") for part in ("groupId", "artifactId")) for each in artifacts
        )
        self.artifacts = [f"{group}:{artifact}:{self.version}" for group, artifact in coordinates]
        self._class_path = HERE / name / "target" / f"{self.version}.classpath"

    def is_here(self) -> bool:
        """True if the artifacts were downloaded."""
        return self._class_path.exists() and all(Path(jar).exists() for jar in self._class_path.read_text().split(":"))

    def run(self, source: str, *arguments: str) -> str:
        """What a Java program prints."""
        command = self._java(source, *arguments)
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(f"{source} of {self.name} failed:\n{found.stderr[-4000:]}")
        return found.stdout

    @contextmanager
    def started(self, source: str, home: Path) -> Iterator[str]:
        """A server on the loopback address with this home folder: its address, which it prints on a line of its own."""
        command = self._java(source, str(home))
        with tempfile.TemporaryFile() as log:
            server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                lines = iter(server.stdout.readline, "")
                address = next((line.strip() for line in lines if line.startswith("http://")), None)
                if address is None:
                    log.seek(0)
                    raise SystemExit(f"{self.name} did not start:\n{log.read().decode()[-4000:]}")
                yield address
            finally:
                server.stdin.close()
                server.stdout.close()
                server.wait()

    def _java(self, source: str, *arguments: str) -> list[str]:
        self._download()
        return ["java", "-cp", self._class_path.read_text(), str(HERE / self.name / source), *arguments]

    def _download(self) -> None:
        if self.is_here():
            return
        if shutil.which("mvn") is None:
            raise SystemExit("this needs Maven (mvn) and Java 17.")
        print(f"Maven downloads {', '.join(self.artifacts)} …")
        self._class_path.parent.mkdir(exist_ok=True)
        output = f"-Dmdep.outputFile={self._class_path}"
        command = ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dengine.version={self.version}", output]
        subprocess.run(command, cwd=HERE / self.name, check=True)
