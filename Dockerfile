# MaxView as a container. Build: docker build -t maxview .
# Run:   docker run --init -p 8080:8080 -v maxview:/data --env-file maxview.env maxview
# `make base-digest` holds the base image to its digest; until then its name leads to whatever is newest.
ARG BASE=python:3.12-slim

# Packages are installed in a stage of their own, so that pip's caches and the build's tools stay out of the image.
FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY locks/runtime.txt locks/build.txt locks/
RUN python -m venv /opt/maxview \
    && /opt/maxview/bin/pip install --no-deps --require-hashes --only-binary :all: --requirement locks/runtime.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --no-deps --require-hashes --only-binary :all: --requirement locks/build.txt
COPY pyproject.toml README.md ./
COPY bot bot
# The wheel carries the templates inside the package; the build fails where they are missing.
COPY templates templates
# Compiled here, because the program's user may not write there: without it every start compiles a
# thousand files again, which takes longer than GitHub waits for an answer.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /opt/maxview/bin/pip install --no-deps --no-index /wheel/*.whl \
    && /opt/maxview/bin/python -m compileall -q /opt/maxview

# What the environment above really holds, as CycloneDX JSON.
FROM build AS sbom
COPY locks/supply.txt locks/
RUN python -m venv /opt/supply \
    && /opt/supply/bin/pip install --no-deps --require-hashes --only-binary :all: --requirement locks/supply.txt \
    && /opt/supply/bin/cyclonedx-py environment /opt/maxview --pyproject pyproject.toml --output-reproducible \
        --output-file /sbom.cdx.json

FROM ${BASE}
# The numbers are fixed so that the owner of a volume stays the same from one image to the next.
RUN groupadd --system --gid 10001 maxview \
    && useradd --system --uid 10001 --gid maxview --home-dir /data --shell /usr/sbin/nologin maxview \
    && install -d -o maxview -g maxview /data
# What runs jobs on the server's own machine, where the operator's policy and the container's rights allow it.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/maxview /opt/maxview
COPY --from=sbom /sbom.cdx.json /usr/share/doc/maxview/sbom.cdx.json
ENV PATH=/opt/maxview/bin:$PATH PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=8080 DATA_DIR=/data LOG_FORMAT=json
USER maxview
WORKDIR /data
# The database, the logs of launched runs, and everything else that must survive a new version.
VOLUME /data
EXPOSE 8080
# The process itself: whether its database answers is /readyz, and restarting us would not mend that.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"]
# Without a shell in between: SIGTERM reaches the program, which stops within ten seconds.
ENTRYPOINT ["maxview"]
CMD ["serve"]
