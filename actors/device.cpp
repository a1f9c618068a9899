#include "actors/device.hpp"

namespace troupe::actors {

DeviceActor::behavior_type device(DeviceActor::pointer, std::shared_ptr<engine::Backend> backend) {
  return {
      [backend](const StepTask& task) {
        auto ticket = backend->submit(std::move(*task.plan));
        auto result =
            ticket ? backend->wait(*ticket) : Result<engine::StepResult>(std::move(ticket).error());
        return StepDone{std::make_shared<Result<engine::StepResult>>(std::move(result))};
      },
  };
}

}  // namespace troupe::actors
