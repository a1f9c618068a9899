// Connects to the cluster that runs on this machine, sends a prompt and prints the tokens as they
// arrive. The stream survives the death of its decode worker: kill -9 it and watch.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=<where Troupe is installed> && cmake --build build
//   troupe up deploy/quickstart.yaml && build/hello_client "Tell me a story about a lighthouse."
#include <cstdio>
#include <troupe/client.hpp>

int main(int count, char** arguments) {
  auto client = troupe::Client::connect();
  if (!client) {
    std::fprintf(stderr, "hello_client: %s\n", client.error().message().c_str());
    return 1;
  }

  troupe::Request request;
  request.messages = {{"user", count > 1 ? arguments[1] : "Say hello to the world."}};
  request.max_tokens = 200;
  request.temperature = 0;

  const auto reply = client->generate(request, [](const troupe::Delta& delta) {
    std::fputs(delta.text.c_str(), stdout);
    std::fflush(stdout);
  });
  if (!reply) {
    std::fprintf(stderr, "\nhello_client: %s\n", reply.error().message().c_str());
    return 1;
  }
  std::printf("\n[%u tokens by %s, %.0f ms to the first, %u attempt(s), %s]\n",
              reply->output_tokens, reply->decode_worker.c_str(), reply->ttft_ms, reply->attempts,
              reply->choices[0].finish_reason.c_str());
  return 0;
}
