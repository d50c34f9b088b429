// The rows of plugins and the form pjrt:FILE.so: modules compiled and run by a plugin.
#include "core/replay/platform.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "core/backends/pjrt/adapt.h"
#include "core/backends/pjrt/adapt_steps.h"
#include "core/backends/pjrt/call_sink.h"
#include "core/backends/pjrt/capture_calls.h"
#include "core/backends/pjrt/client.h"
#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/leaf_traffic.h"
#include "core/backends/pjrt/memory_stats.h"
#include "core/backends/pjrt/partitioned_leaves.h"
#include "core/backends/pjrt/plugin_profiler.h"
#include "core/backends/pjrt/plugin_recorder.h"
#include "core/backends/plugins/plugins.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;
using hlo::Literal;

// What a module was loaded to capture.
struct Captures {
  std::shared_ptr<const hlo::Module> module;  // as given
  std::vector<bool> points;
  std::vector<std::string> left_out;
  int64_t program = 0;
};

// Buffers of a plugin.
class PluginOutputs : public pjrt::DeviceOutputs {
 public:
  PluginOutputs(const pjrt::ClientHandle& client,
                const std::vector<std::vector<pjrt::OwnedBuffer>>& buffers)
      : client_(client), buffers_(buffers) {}
  size_t CountOf(size_t device) const override { return buffers_[device].size(); }
  Result<Literal> Take(size_t device, size_t output, const hlo::Shape& shape) const override {
    return client_.Take(buffers_[device][output].get(), shape);
  }

 private:
  const pjrt::ClientHandle& client_;
  const std::vector<std::vector<pjrt::OwnedBuffer>>& buffers_;
};

class PjrtExecutable : public Executable {
 public:
  PjrtExecutable(const PlatformRow& row, hlo::InstructionId root,
                 std::shared_ptr<const pjrt::ClientHandle> client, pjrt::Adapted adapted,
                 pjrt::LoadedProgram program, std::optional<Captures> captures)
      : row_(row),
        root_(root),
        client_(std::move(client)),
        adapted_(std::move(adapted)),
        program_(std::move(program)),
        captures_(std::move(captures)),
        memory_(PeakBytes()) {}

  Result<RunResult> Run(std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                        RunStream& stream) override {
    HLOSCOPE_TRY(CheckCapture(row_, options.capture));
    if (options.capture.wants_more_than_results() && !captures_) {
      return UnsupportedError("the module was loaded without a capture plan",
                              "load the module with the capture plan");
    }
    for (const std::string& warning : adapted_.warnings) stream.Take(RunWarning{warning});
    PhaseRecorder phases(options.record.steps > 0, stream);
    phases.Enter("copies in", kTransferLane);
    pjrt::LeafTraffic traffic(adapted_);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto arguments, traffic.Arguments(inputs));
    std::vector<std::vector<pjrt::OwnedBuffer>> buffers(program_.devices.size());
    for (size_t d = 0; d < buffers.size(); ++d) {
      for (const Literal& argument : arguments[d]) {
        HLOSCOPE_ASSIGN_OR_RETURN(pjrt::OwnedBuffer buffer,
                                  client_->Put(argument, program_.devices[d]));
        buffers[d].push_back(std::move(buffer));
      }
    }
    std::optional<pjrt::CallSink> sink;
    std::optional<pjrt::SinkScope> scope;
    if (captures_) {
      sink.emplace(*captures_->module, captures_->points, options.capture, stream);
      scope.emplace(captures_->program, *sink);
    }
    const auto profiler = StartProfiler(options, stream);
    pjrt::PluginRecorder* const recorder = profiler == nullptr ? RecorderFor(options) : nullptr;
    if (recorder != nullptr) recorder->Begin(stream);
    phases.Enter(kRunSlice, kProgramLane);
    const Clock::time_point start = Clock::now();
    auto executed = client_->Execute(program_, buffers);
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    if (profiler != nullptr) TellTrace(*profiler, start, stream);
    if (recorder != nullptr) recorder->End(stream);
    HLOSCOPE_ASSIGN_OR_RETURN(auto results, std::move(executed));
    scope.reset();
    phases.Enter("copies out", kTransferLane);
    buffers.clear();
    HLOSCOPE_TRY(traffic.Emit(PluginOutputs(*client_, results), options.capture, root_, stream));
    return RunResult{time.count(), memory_};
  }

 private:
  // Of a recorded run, where the plugin has a profiler; why it does not start is a warning.
  std::unique_ptr<pjrt::PluginProfiler> StartProfiler(const RunOptions& options,
                                                      RunStream& stream) const {
    if (options.record.steps <= 0) return nullptr;
    auto started = pjrt::PluginProfiler::Start(client_->plugin());
    if (!started.has_value()) {
      stream.Take(RunWarning{started.error().ToString()});
      return nullptr;
    }
    if (*started != nullptr && row_.devices == Devices::kGpu) {
      stream.Take(RunWarning{
          "while XLA:GPU profiles, command buffers are off: kernels are launched one by one"});
    }
    return *std::move(started);
  }
  // Times that are no time of day count from the start of the profiler.
  static void TellTrace(pjrt::PluginProfiler& profiler, Clock::time_point start,
                        RunStream& stream) {
    auto bytes = profiler.Stop();
    if (!bytes.has_value()) {
      stream.Take(RunWarning{bytes.error().ToString()});
      return;
    }
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch());
    stream.Take(TraceFile{*std::move(bytes), since.count()});
  }
  // Of a run on GPUs that is recorded, where the plugin has no profiler, which is CUPTI's only
  // subscriber; null: there is nothing to record.
  pjrt::PluginRecorder* RecorderFor(const RunOptions& options) {
    if (options.record.steps <= 0 || row_.devices != Devices::kGpu) return nullptr;
    if (recorder_) return &*recorder_;
    std::shared_ptr<const hlo::Module> optimized;
    if (const auto program = client_->OptimizedProgram(program_); program.has_value()) {
      const auto file = hlo::ReadProto(std::as_bytes(std::span(*program)));
      if (file.has_value()) optimized = file->module;
    }
    return &recorder_.emplace(std::move(optimized));
  }

  int64_t PeakBytes() const {
    pjrt::Block<pjrt::ExecutableGetCompiledMemoryStatsArgs> stats;
    stats->executable = program_.executable.get();
    const Status status = client_->plugin().Call(stats);
    return status.has_value() ? pjrt::PeakBytes(*stats.get()) : 0;
  }

  const PlatformRow& row_;
  hlo::InstructionId root_;
  std::shared_ptr<const pjrt::ClientHandle> client_;
  pjrt::Adapted adapted_;
  pjrt::LoadedProgram program_;
  std::optional<Captures> captures_;
  std::optional<pjrt::PluginRecorder> recorder_;
  int64_t memory_ = 0;
};

class PjrtPlatform : public Platform {
 public:
  PjrtPlatform(const PlatformRow& row, std::string_view name) : row_(row), name_(name) {}

  std::string_view name() const override { return name_; }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    const hlo::InstructionId root = module->entry().root;
    std::optional<Captures> captures;
    if (options.capture.wants_more_than_results()) {
      HLOSCOPE_TRY(CheckCapture(row_, options.capture));
      HLOSCOPE_ASSIGN_OR_RETURN(captures, AddCaptures(module, options));
    }
    const bool overruns = OverrunsBits(row_, *module);
    HLOSCOPE_ASSIGN_OR_RETURN(pjrt::Adapted adapted, pjrt::Adapt(std::move(module), options));
    if (overruns) {
      adapted.warnings.push_back(
          "this XLA writes arrays of s1 and u1 beyond their buffers: results may be wrong; use s2 "
          "or u2");
    }
    if (captures && !captures->left_out.empty()) {
      adapted.warnings.push_back(fmt::format("values of dynamic shape are not captured: {}",
                                             pjrt::ListSome(captures->left_out)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto client,
                              Client(adapted.counts.devices(), options.record.steps > 0));
    if (captures) HLOSCOPE_TRY(pjrt::RegisterCapture(client->plugin()));
    pjrt::CompileOptions compile;
    compile.replicas = adapted.counts.replicas;
    compile.partitions = adapted.counts.partitions;
    compile.partitioning = adapted.partitioning;
    compile.backend_only = !options.platform.run_passes;
    compile.flags = options.platform.xla_flags;
    const auto ids = client->device_ids().begin();
    compile.devices.assign(ids, ids + adapted.counts.devices());
    const std::string proto = hlo::ModuleToProto(*adapted.module);
    HLOSCOPE_ASSIGN_OR_RETURN(pjrt::LoadedProgram program,
                              client->Compile(proto, "hlo", pjrt::Serialize(compile)));
    if (std::cmp_not_equal(program.devices.size(), adapted.counts.devices())) {
      return InternalError("the plugin compiled for a different number of devices");
    }
    if (adapted.partitioning.spmd) {
      HLOSCOPE_ASSIGN_OR_RETURN(const std::string optimized, client->OptimizedProgram(program));
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_read, pjrt::FindTilings(optimized, adapted));
      if (!is_read && adapted.partitioning.LeavesOpen()) {
        // What XLA chose is not known (plugins leave out large constants): it may not choose.
        compile.partitioning.to_parameters.clear();
        compile.partitioning.to_results.clear();
        HLOSCOPE_ASSIGN_OR_RETURN(program, client->Compile(proto, "hlo", pjrt::Serialize(compile)));
      }
    }
    return std::make_unique<PjrtExecutable>(row_, root, client, std::move(adapted),
                                            std::move(program), std::move(captures));
  }

 private:
  // Puts capturing calls into `module`.
  Result<Captures> AddCaptures(std::shared_ptr<const hlo::Module>& module,
                               const RunOptions& options) const {
    if (options.platform.run_passes) {
      return UnsupportedError(
          fmt::format("{} captures values only inside a module that is already optimised", name_),
          fmt::format("`hloscope compile --with {} --emit hlo -o FILE` writes that; run FILE with "
                      "--run_test_hlo_passes=false",
                      name_));
    }
    Captures captures{module, {}, {}, pjrt::NewProgramNumber()};
    HLOSCOPE_ASSIGN_OR_RETURN(pjrt::CaptureCalls calls,
                              pjrt::AddCaptureCalls(*module, options.capture, captures.program));
    captures.points = std::move(calls.points);
    captures.left_out = std::move(calls.left_out);
    module = std::move(calls.module);
    return captures;
  }

  Result<std::shared_ptr<const pjrt::ClientHandle>> Client(int64_t devices, bool records) const {
    HLOSCOPE_ASSIGN_OR_RETURN(const PluginFile file, ResolvePlugin(name_, {}));
    HLOSCOPE_ASSIGN_OR_RETURN(auto plugin, pjrt::OpenPlugin(file.path));
    if (records && row_.devices == Devices::kGpu && !pjrt::PluginProfiler::IsIn(*plugin)) {
      pjrt::LetNvtxTellCupti();
    }
    auto client = pjrt::OpenClient(plugin, devices, row_.devices == Devices::kGpu);
    if (!client.has_value() && client.error().hint.empty()) {
      client.error().hint = "`hloscope doctor` shows what is missing";
    }
    return client;
  }

  const PlatformRow& row_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Platform> MakePluginPlatform(const PlatformRow& row, std::string_view name) {
  return std::make_unique<PjrtPlatform>(row, name);
}

}  // namespace hloscope::replay
