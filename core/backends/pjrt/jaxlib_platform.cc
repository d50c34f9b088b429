// The platform of the user's own XLA: modules go as StableHLO to the jaxlib of a Python
// environment.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/backends/jaxlib/jaxlib_process.h"
#include "core/backends/pjrt/adapt.h"
#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/jaxlib_compile.h"
#include "core/backends/pjrt/leaf_traffic.h"
#include "core/backends/pjrt/partitioned_leaves.h"
#include "core/backends/pjrt/stablehlo_changes.h"
#include "core/base/counted.h"
#include "core/hlo/proto/proto.h"
#include "core/replay/platform.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

class ArrayOutputs : public pjrt::DeviceOutputs {
 public:
  explicit ArrayOutputs(const DeviceArrays& arrays) : arrays_(arrays) {}
  size_t CountOf(size_t device) const override { return arrays_[device].size(); }
  Result<Literal> Take(size_t device, size_t output, const hlo::Shape& shape) const override {
    const Literal& array = arrays_[device][output];
    if (array.shape().element_type() == shape.element_type() &&
        array.shape().rank() == shape.rank()) {
      return array;
    }
    return InternalError(fmt::format("jaxlib gives {}, expected {}",
                                     hlo::ToString(array.shape(), false),
                                     hlo::ToString(shape, false)));
  }

 private:
  const DeviceArrays& arrays_;
};

// Children by what they were started for; one that nobody uses ends, but for the last.
class Children {
 public:
  Result<std::shared_ptr<JaxlibProcess>> Get(const JaxlibStart& start, const Budget& bounds) {
    const Key key{start.place.python, start.devices, start.flags};
    const auto known = children_.find(key);
    std::shared_ptr<JaxlibProcess> child =
        known == children_.end() ? nullptr : known->second.lock();
    if (child == nullptr || !child->IsUsable()) {
      last_ = nullptr;  // its memory first
      HLOSCOPE_ASSIGN_OR_RETURN(child, JaxlibProcess::Start(start, bounds));
      children_[key] = child;
    }
    last_ = child;
    return child;
  }

 private:
  using Key = std::tuple<std::string, int64_t, std::vector<std::pair<std::string, std::string>>>;
  std::map<Key, std::weak_ptr<JaxlibProcess>> children_;
  std::shared_ptr<JaxlibProcess> last_;
};

class JaxlibExecutable : public Executable {
 public:
  JaxlibExecutable(const PlatformRow& row, std::shared_ptr<Children> children,
                   std::shared_ptr<const hlo::Module> module, RunOptions options)
      : row_(row),
        children_(std::move(children)),
        options_(std::move(options)),
        module_(std::move(module)),
        root_(module_->entry().root) {}
  ~JaxlibExecutable() override { Unload(); }
  JaxlibExecutable(const JaxlibExecutable&) = delete;
  JaxlibExecutable& operator=(const JaxlibExecutable&) = delete;

  Status Load(const RunOptions& options) {
    const Budget bounds = BoundsOf(options, options_.limits);
    HLOSCOPE_ASSIGN_OR_RETURN(adapted_, AdaptForJaxlib(module_, options_));
    JaxlibStart start;
    HLOSCOPE_ASSIGN_OR_RETURN(start.place, ResolveJaxlib(PythonOf(options_)));
    start.flags = options_.platform.xla_flags;
    start.devices = adapted_.counts.devices();
    HLOSCOPE_ASSIGN_OR_RETURN(child_, children_->Get(start, bounds));
    if (child_->facts().devices < start.devices) {
      return EnvironmentError(fmt::format("the module needs {}, jaxlib has {}",
                                          Counted(start.devices, "device"),
                                          child_->facts().devices));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(program_,
                              CompileAdapted(*child_, adapted_, adapted_.partitioning.spmd,
                                             options.record.steps > 0, bounds));
    warnings_ = {fmt::format("ran with jaxlib {}, Python {}, on {}", child_->facts().version,
                             child_->facts().python, child_->facts().platform)};
    if (!child_->facts().note.empty()) warnings_.push_back(child_->facts().note);
    for (const auto& more : {adapted_.warnings, program_.warnings}) {
      warnings_.insert(warnings_.end(), more.begin(), more.end());
    }
    program_.taken.clear();
    if (!adapted_.partitioning.spmd) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_read,
                              pjrt::FindTilings(program_.optimized_module, adapted_));
    if (is_read || !adapted_.partitioning.LeavesOpen()) return {};
    return UnsupportedError(
        "XLA chose shardings of its own, and the optimised module that has them cannot be read",
        "add shardings for all parameters and results to the module");
  }

  Result<RunResult> Run(std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                        RunStream& stream) override {
    HLOSCOPE_TRY(CheckCapture(row_, options.capture));
    if (!child_->IsUsable()) HLOSCOPE_TRY(Load(options));  // it died of an earlier run
    for (const std::string& warning : warnings_) stream.Take(RunWarning{warning});
    const bool records = options.record.steps > 0;
    PhaseRecorder phases(records, stream);
    phases.Enter("copies in, run, copies out of the child", kTransferLane);
    pjrt::LeafTraffic traffic(adapted_);
    HLOSCOPE_ASSIGN_OR_RETURN(const DeviceArrays arguments, traffic.Arguments(inputs));
    HLOSCOPE_ASSIGN_OR_RETURN(
        const JaxlibResults results,
        child_->Run(program_.id, arguments, records, BoundsOf(options, options_.limits)));
    phases.Enter("results", kTransferLane);
    if (records) {  // that of the compilation too, once
      Tell(std::exchange(program_.trace, {}), stream);
      Tell(results.trace, stream);
    }
    HLOSCOPE_TRY(traffic.Emit(ArrayOutputs(results.outputs), options.capture, root_, stream));
    return RunResult{results.run_us, PeakBytes()};
  }

 private:
  static void Tell(const JaxlibTrace& trace, RunStream& stream) {
    if (!trace.bytes.empty()) stream.Take(TraceFile{trace.bytes, trace.start_ns});
    if (!trace.note.empty()) stream.Take(RunWarning{trace.note});
  }

  void Unload() {
    if (child_ != nullptr && program_.id != 0) child_->Unload(program_.id);
  }

  int64_t PeakBytes() const {
    for (const auto& [name, bytes] : program_.memory) {
      if (name == "peak") return bytes;
    }
    return 0;
  }

  const PlatformRow& row_;
  std::shared_ptr<Children> children_;
  RunOptions options_;
  std::shared_ptr<const hlo::Module> module_;
  hlo::InstructionId root_;
  pjrt::Adapted adapted_;
  std::shared_ptr<JaxlibProcess> child_;
  JaxlibProgram program_;
  std::vector<std::string> warnings_;
};

class JaxlibPlatform : public Platform {
 public:
  explicit JaxlibPlatform(const PlatformRow& row) : row_(row) {}

  std::string_view name() const override { return row_.name; }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    auto executable =
        std::make_unique<JaxlibExecutable>(row_, children_, std::move(module), options);
    HLOSCOPE_TRY(executable->Load(options));
    return executable;
  }

 private:
  const PlatformRow& row_;
  std::shared_ptr<Children> children_ = std::make_shared<Children>();
};

}  // namespace

std::unique_ptr<Platform> MakeJaxlibPlatform(const PlatformRow& row, std::string_view /*name*/) {
  return std::make_unique<JaxlibPlatform>(row);
}

}  // namespace hloscope::replay
