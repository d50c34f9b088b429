// Who stored a byte of an argument.
#include "core/ptx/launch_plan.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

class WatchesByte : public Observer {
 public:
  explicit WatchesByte(const std::byte* byte) : byte_(byte) {}

  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override {
    if (!access.writes || byte_ < access.held || byte_ >= access.held + access.bytes) return;
    ++stores;
    block = warp.block->index;
    thread = warp.first_thread + lane;
    pc = warp.block->pc;
  }

  uint64_t stores = 0, block = 0;  // the last one's
  uint32_t thread = 0, pc = 0;

 private:
  const std::byte* byte_;
};

}  // namespace

Result<std::optional<Writer>> FindWriter(const Module& module, const LaunchRequest& request,
                                         uint32_t argument, uint64_t byte,
                                         const LaunchOptions& options) {
  if (argument >= request.arguments.size() || byte >= request.arguments[argument].memory.size()) {
    return InputError("kernel " + request.entry + ": byte " + std::to_string(byte) +
                          " of argument " + std::to_string(argument) + " does not exist",
                      "name a byte of a memory argument");
  }
  WatchesByte watch(request.arguments[argument].memory.data() + byte);
  LaunchOptions watched = options;
  watched.observer = &watch;
  HLOSCOPE_ASSIGN_OR_RETURN(const LaunchResult result, Launch(module, request, watched));
  if (result.fault.has_value()) {
    return std::unexpected(
        Error{ErrorClass::kCrashed, result.fault->ToString(), result.fault->place, {}});
  }
  if (watch.stores == 0) return std::nullopt;
  const Module::Contents& contents = module.contents();
  Writer writer{Unflattened(watch.block, request.grid),
                Unflattened(watch.thread, request.block),
                {contents.program.syntax.file},
                {},
                watch.pc,
                watch.stores};
  for (const Kernel& kernel : contents.program.kernels) {
    if (kernel.name != request.entry) continue;
    const Position position = kernel.instructions[watch.pc].position;
    writer.place.line = position.line;
    writer.place.column = position.column;
    writer.form = kernel.forms[watch.pc];
  }
  return writer;
}

}  // namespace hloscope::ptx
