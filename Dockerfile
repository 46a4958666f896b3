# The Worker on plain workerd: docker build -t byref . && docker run -p 8787:8787 -v byref:/state \
#   -e AUTH=bearer -e API_KEYS='{"<a key of your own>": "<tenant>"}' byref
#
# A Worker of your own: `npx byref bundle bundle` in its project, and `-v ./bundle:/worker:ro` in `docker run`; or
# an image of it: `FROM byref` and `COPY bundle /worker`.
#
# The base is pinned: `docker buildx imagetools inspect node:24-bookworm-slim` prints the digest of today's.
ARG NODE=node:24-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
FROM ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY page/package.json page/
COPY create-byref/package.json create-byref/
COPY packages packages
RUN npm ci
COPY . .
RUN node scripts/workerd-bundle.ts /app

FROM ${NODE}
# Models and MCP servers are asked over TLS.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /app /app
RUN mkdir /state && chown node:node /state
USER node
ENV PORT=8787 STATE_DIR=/state WORKER_DIR=/worker
VOLUME /state
EXPOSE 8787
HEALTHCHECK CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "/app/start.mjs"]
