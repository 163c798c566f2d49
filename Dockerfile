# The image of a release, which goreleaser builds: the static executable alone.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/zinc /zinc
ENTRYPOINT ["/zinc"]
