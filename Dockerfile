# MaxView as a container. Build: docker build -t maxview .
# Run:   docker run --init -p 8080:8080 -v maxview:/data --env-file maxview.env maxview
ARG PYTHON=3.12

# Packages are installed in a stage of their own, so that pip and its caches stay out of the image.
FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/maxview
WORKDIR /src
COPY pyproject.toml README.md ./
COPY bot bot
# The wheel carries the templates inside the package; the build fails where they are missing.
COPY templates templates
# Compiled here, because the program's user may not write there: without it every start compiles a
# thousand files again, which takes longer than GitHub waits for an answer.
RUN /opt/maxview/bin/pip install . && /opt/maxview/bin/python -m compileall -q /opt/maxview

FROM python:${PYTHON}-slim
# The numbers are fixed so that the owner of a volume stays the same from one image to the next.
RUN groupadd --system --gid 10001 maxview \
    && useradd --system --uid 10001 --gid maxview --home-dir /data --shell /usr/sbin/nologin maxview \
    && install -d -o maxview -g maxview /data
COPY --from=build /opt/maxview /opt/maxview
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
