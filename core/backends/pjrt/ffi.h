// FFI: how a plugin calls a function of this program from inside a module, through PJRT's extension
// of that name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/backends/pjrt/api.h"
#include "core/base/result.h"

namespace hloscope::replay::pjrt {

// The target of custom calls that hand a value to a CaptureSink.
inline constexpr std::string_view kCaptureTarget = "hloscope.capture";

// An array as the plugin holds it: dimensions are logical, `data` lies as the module's layout says
// and is good during the call only. Elements narrower than a byte are packed.
struct FfiBuffer {
  int32_t type = 0;  // as hlo::ElementType
  std::span<const int64_t> dimensions;
  const std::byte* data = nullptr;
};

// One execution of a custom call: the two numbers in its backend_config, the device by its place
// among the client's, and the leaves of its operand, tokens included.
struct FfiCall {
  int64_t program = 0, id = 0, device = 0;
  std::vector<FfiBuffer> leaves;
};

class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  // From any of the plugin's threads, several at a time. An error ends the run with its message.
  virtual Status Take(const FfiCall& call) = 0;
};

// A number that no other program of this process has, for the `program` of its calls.
int64_t NewProgramNumber();
// The backend_config of a capturing call, as MLIR writes a dictionary.
std::string CaptureConfig(int64_t program, int64_t id);

// Calls of that program go to `sink` while this lives.
class SinkScope {
 public:
  SinkScope(int64_t program, CaptureSink& sink);
  ~SinkScope();
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;

 private:
  int64_t program_;
};

// Makes kCaptureTarget known to the plugin, once in a process. Unsupported: it has no such
// extension, or refuses. A plugin may refuse without saying so; then it does when it compiles.
Status RegisterCapture(const Plugin& plugin);

}  // namespace hloscope::replay::pjrt
