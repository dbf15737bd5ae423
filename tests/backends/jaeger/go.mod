// Jaeger v2, which is also a Collector; scripts/jaeger builds it.
module jaeger

go 1.25

tool github.com/jaegertracing/jaeger/cmd/jaeger

require github.com/jaegertracing/jaeger v1.76.0
