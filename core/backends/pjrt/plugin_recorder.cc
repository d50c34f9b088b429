// CUPTI's records of a plugin's kernels, by their names.
#include "core/backends/pjrt/plugin_recorder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cctype>
#include <utility>

#include "core/backends/plugins/library_files.h"
#include "core/hlo/proto/proto.h"
#include "profiler/cupti/launch_ranges.h"
#include "profiler/cupti/to_xspace.h"

namespace hloscope::replay::pjrt {

using profiler::cupti::Collector;
using profiler::cupti::Origin;

namespace {

constexpr int64_t kOnlyProgram = 1;  // the only one of its trace

// XLA:GPU calls a kernel as the instruction that it was first made for, with other characters.
std::string NameOfKernelFor(std::string_view instruction) {
  std::string name(instruction);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace

void LetNvtxTellCupti() {
  const std::vector<std::string> files = CuptiFiles();
  if (!files.empty()) setenv("NVTX_INJECTION64_PATH", files.front().c_str(), 0);
}

PluginRecorder::PluginRecorder(std::shared_ptr<const hlo::Module> optimized)
    : optimized_(std::move(optimized)) {
  if (optimized_ == nullptr) return;
  for (uint32_t i = 0; i < optimized_->instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    by_kernel_.try_emplace(NameOfKernelFor(optimized_->name(id)), id);
    names_.emplace(optimized_->name(id));
  }
}

void PluginRecorder::Begin(RunStream& stream) {
  // Asked again in each run: whoever was in the way may be gone.
  why_not_.clear();
  auto started = Collector::Start(CuptiFiles(), {.ranges = true});
  if (started.has_value()) {
    collector_ = *std::move(started);
    return;
  }
  why_not_ = fmt::format("what runs on the GPU is timed as a whole, not one by one: {}",
                         started.error().ToString());
  if (why_not_ != std::exchange(told_why_not_, why_not_)) stream.Take(RunWarning{why_not_});
}

void PluginRecorder::End(RunStream& stream) {
  if (collector_ == nullptr) {
    profiler::cupti::ActivityLog nothing;
    nothing.warnings.push_back(why_not_);
    return stream.Take(TraceFile{profiler::cupti::WriteXSpace(nothing, {}, 0)});
  }
  auto collected = std::exchange(collector_, nullptr)->Stop();
  if (!collected.has_value()) return stream.Take(RunWarning{collected.error().ToString()});
  profiler::cupti::Origins origins;
  origins.of_kernel = [&](std::string_view kernel) -> std::optional<Origin> {
    const auto found = by_kernel_.find(kernel);
    if (found == by_kernel_.end()) return std::nullopt;
    return Origin{std::string(optimized_->name()), std::string(optimized_->name(found->second)),
                  kOnlyProgram};
  };
  const profiler::cupti::LaunchRanges ranges(collected->log);
  // Calls were asked for to know which range a launch lies in.
  std::erase_if(collected->log.activities, [](const profiler::cupti::Activity& activity) {
    return activity.work == profiler::cupti::Work::kCall;
  });
  origins.of_call = [&](uint32_t correlation) -> std::optional<Origin> {
    auto said = ranges.Of(correlation);
    if (!said || optimized_ == nullptr) return said;
    // A range of another program is of none of these instructions.
    const bool is_ours = names_.contains(said->instruction) &&
                         (said->module.empty() || said->module == optimized_->name());
    if (!is_ours) return std::nullopt;
    return Origin{std::string(optimized_->name()), std::move(said->instruction), kOnlyProgram};
  };
  if (collected->log.ranges.empty()) {
    collected->log.warnings.emplace_back(
        "no NVTX ranges were reported: kernels are matched by their names alone, library calls are "
        "not attributed to instructions");
  }
  std::vector<profiler::cupti::TracedModule> modules;
  if (optimized_ != nullptr) {
    hlo::ProtoFile file;
    file.kind = hlo::ProtoKind::kHlo;
    file.module = optimized_;
    modules.push_back({std::string(optimized_->name()), hlo::HloToProto(file), kOnlyProgram});
  }
  TraceFile trace;
  trace.bytes =
      profiler::cupti::WriteXSpace(collected->log, origins, collected->origin_ns, nullptr, modules);
  trace.start_ns = collected->steady_origin_ns;
  stream.Take(std::move(trace));
}

}  // namespace hloscope::replay::pjrt
