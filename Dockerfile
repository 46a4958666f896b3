# The Worker on plain workerd: docker build -t byref . && docker run -p 8787:8787 -v byref:/state \
#   -e AUTH=bearer -e API_KEYS='{"<a key of your own>": "<tenant>"}' byref
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY page/package.json page/
RUN npm ci
COPY . .
RUN node scripts/workerd-bundle.ts /app

FROM node:24-slim
# Models and MCP servers are asked over TLS.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /app /app
RUN mkdir /state && chown node:node /state
USER node
ENV PORT=8787 STATE_DIR=/state
VOLUME /state
EXPOSE 8787
HEALTHCHECK CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "/app/start.mjs"]
