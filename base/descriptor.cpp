#include "base/descriptor.hpp"

#include <unistd.h>

namespace troupe {

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace troupe
