// XLA:CPU opens "PIPELINE (MODULE)" around pipelines and each pass by its bare name inside; XLA:GPU
// writes "XlaPass:#name=…,module=…#" and its like. Events nest by time, on one thread.
#include "core/debug/recompile/compilation_trace.h"

#include <algorithm>
#include <optional>
#include <span>

#include "profiler/annotation_text.h"
#include "profiler/saturating_add.h"

namespace hloscope::debug {
namespace {

using profiler::AnnotationValue;
using profiler::EventId;
using profiler::EventStore;
using profiler::Lane;
using profiler::LaneRole;

struct PassEvent {
  std::string pass, pipeline;
  int64_t self = 0;  // picoseconds without the passes that ran in it
  bool is_in_backend = false;
};

// Times in picoseconds; -1 where the trace has no such event.
struct CompilationEvents {
  std::string module;
  int64_t start = 0, duration = 0;               // of the whole
  int64_t backend = -1;                          // after the passes: scheduling, code generation
  int64_t mlir = -1, llvm = -1, assembler = -1;  // sums over the threads that compile kernels
  std::vector<PassEvent> passes = {};            // in order of their starts
};

enum class Kind : uint8_t {
  kOther,
  kWhole,
  kPipeline,
  kPass,
  kBackend,
  kMlir,
  kLlvm,
  kAssembler,
  kCheck
};

struct Mark {
  std::string_view begin;  // of the name
  Kind kind;
};
// Others of a thread that has one of these open are passes and pipelines.
constexpr Mark kMarks[] = {
    {"XlaCompile:#", Kind::kWhole},
    {"PjRtCpuClient::Compile", Kind::kWhole},
    {"TfrtCpuClient::Compile", Kind::kWhole},
    {"XlaPassPipeline:#", Kind::kPipeline},
    {"XlaPass:#", Kind::kPass},
    {"XlaCompileBackend", Kind::kBackend},
    {"CpuCompiler::RunBackend", Kind::kBackend},
    {"XlaOptimizeLlvmIr", Kind::kLlvm},
    {"FusionCompiler::Compile", Kind::kMlir},
    {"TaskDispatcher::dispatch", Kind::kLlvm},  // of LLVM's ORC: one module to machine code
    {"XlaCompileGpuAsm", Kind::kAssembler},
    {"RunInvariantCheckers", Kind::kCheck},  // of a pass, or between two
};

struct Frame {
  Kind kind = Kind::kOther;
  int64_t end = 0;
  std::string_view pipeline = {};  // of kPipeline
  size_t pass = 0;                 // of kPass: its position in the passes of the compilation
};

// "jit_f" of "simplification (jit_f)", with the pipeline before it; nullopt: no pipeline's.
struct PipelineName {
  std::string_view pipeline, module;
};
std::optional<PipelineName> PipelineOf(std::string_view name) {
  const size_t open = name.rfind(" (");
  if (open == name.npos || open == 0 || !name.ends_with(')')) return std::nullopt;
  const std::string_view module = name.substr(open + 2, name.size() - open - 3);
  if (module.empty() || module.contains(' ')) return std::nullopt;
  return PipelineName{name.substr(0, open), module};
}

class LaneReader {
 public:
  LaneReader(const EventStore& store, std::vector<CompilationEvents>& out)
      : store_(store), out_(out) {}

  void Read(const Lane& lane) {
    std::vector<EventId> events;
    for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i)
      events.emplace_back(i);
    std::ranges::stable_sort(events, [&](EventId a, EventId b) {
      return store_.start(a) != store_.start(b) ? store_.start(a) < store_.start(b)
                                                : store_.duration(a) > store_.duration(b);
    });
    for (const EventId e : events) Event(e);
  }

 private:
  void Event(EventId e) {
    while (!open_.empty() && open_.back().end <= store_.start(e)) open_.pop_back();
    if (open_.empty()) compilation_.reset();
    const std::string_view name = store_.text(store_.name(e));
    const auto mark =
        std::ranges::find_if(kMarks, [&](const Mark& one) { return name.starts_with(one.begin); });
    Frame frame{.kind = mark == std::end(kMarks) ? Kind::kOther : mark->kind, .end = store_.end(e)};
    if (frame.kind == Kind::kWhole && !compilation_) {
      compilation_ = out_.size();
      out_.push_back({.module = std::string(AnnotationValue(name, "module")),
                      .start = store_.start(e),
                      .duration = store_.duration(e)});
    }
    if (!compilation_) return;
    CompilationEvents& compilation = out_[*compilation_];
    const int64_t duration = store_.duration(e);
    switch (frame.kind) {
      case Kind::kBackend:
        compilation.backend =
            profiler::SaturatingAdd(std::max<int64_t>(compilation.backend, 0), duration);
        break;
      case Kind::kPipeline:
        frame.pipeline = AnnotationValue(name, "name");
        if (compilation.module.empty()) compilation.module = AnnotationValue(name, "module");
        break;
      case Kind::kPass:
        AddPass(compilation, frame, AnnotationValue(name, "name"), duration);
        break;
      case Kind::kOther:
        Plain(compilation, frame, name, duration);
        break;
      default:
        break;
    }
    open_.push_back(frame);
  }

  // Of XLA:CPU: a pipeline by its name, a pass by standing in one.
  void Plain(CompilationEvents& compilation, Frame& frame, std::string_view name,
             int64_t duration) {
    const auto pipeline = PipelineOf(name);
    if (pipeline) {
      frame.kind = Kind::kPipeline;
      frame.pipeline = pipeline->pipeline;
      if (compilation.module.empty()) compilation.module = pipeline->module;
    } else if (!open_.empty() && open_.back().kind == Kind::kPipeline) {
      frame.kind = Kind::kPass;
      AddPass(compilation, frame, name, duration);
    }
  }

  void AddPass(CompilationEvents& compilation, Frame& frame, std::string_view name,
               int64_t duration) {
    PassEvent pass{.pass = std::string(name), .pipeline = {}, .self = duration};
    for (auto outer = open_.rbegin(); outer != open_.rend(); ++outer) {
      if (outer->kind == Kind::kPipeline && pass.pipeline.empty()) pass.pipeline = outer->pipeline;
      pass.is_in_backend |= outer->kind == Kind::kBackend;
    }
    const auto around = std::ranges::find(open_.rbegin(), open_.rend(), Kind::kPass, &Frame::kind);
    if (around != open_.rend()) {
      int64_t& self = compilation.passes[around->pass].self;
      self = std::max<int64_t>(self - duration, 0);
    }
    frame.pass = compilation.passes.size();
    compilation.passes.push_back(std::move(pass));
  }

  const EventStore& store_;
  std::vector<CompilationEvents>& out_;
  std::optional<size_t> compilation_;  // that is open, in `out_`
  std::vector<Frame> open_;
};

// MLIR, LLVM and the assembler run on threads of their own: they are of the compilation under way.
void AddCode(const EventStore& store, std::span<CompilationEvents> compilations) {
  for (const Lane& lane : store.lanes()) {
    if (lane.role != LaneRole::kThread) continue;
    for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
      const EventId e(i);
      const std::string_view name = store.text(store.name(e));
      const auto mark = std::ranges::find_if(
          kMarks, [&](const Mark& one) { return name.starts_with(one.begin); });
      if (mark == std::end(kMarks) || mark->kind < Kind::kMlir || mark->kind == Kind::kCheck)
        continue;
      const auto at = std::ranges::find_if(compilations, [&](const CompilationEvents& one) {
        return one.start <= store.start(e) && store.start(e) < one.start + one.duration;
      });
      if (at == compilations.end()) continue;
      int64_t& sum = mark->kind == Kind::kMlir   ? at->mlir
                     : mark->kind == Kind::kLlvm ? at->llvm
                                                 : at->assembler;
      sum = profiler::SaturatingAdd(std::max<int64_t>(sum, 0), store.duration(e));
    }
  }
}

int64_t Us(int64_t picoseconds) { return picoseconds / 1'000'000; }

analysis::LoggedTimes TimesOf(const CompilationEvents& events) {
  analysis::LoggedTimes times{.module = events.module.empty() ? "(unnamed)" : events.module};
  // Those of the backend come after the others.
  for (const bool is_in_backend : {false, true}) {
    for (const PassEvent& pass : events.passes) {
      if (pass.is_in_backend != is_in_backend) continue;
      times.runs.push_back({.pass = pass.pass,
                            .pipeline = pass.pipeline,
                            .end_us = Us(pass.self),
                            .self_us = Us(pass.self)});
    }
    if (!is_in_backend) times.runs_before_backend = times.runs.size();
  }
  times.whole_us = Us(events.duration);
  if (events.backend >= 0) {
    times.backend_us = Us(events.backend);
    times.passes_us = std::max<int64_t>(*times.whole_us - *times.backend_us, 0);
  }
  if (events.mlir >= 0) times.mlir_us = Us(events.mlir);
  if (events.llvm >= 0) times.llvm_us = Us(events.llvm);
  if (events.assembler >= 0) times.assembler_us = Us(events.assembler);
  return times;
}

}  // namespace

std::vector<analysis::LoggedTimes> CompilationsOf(const EventStore& store) {
  std::vector<CompilationEvents> found;
  for (const Lane& lane : store.lanes()) {
    if (lane.role == LaneRole::kThread) LaneReader(store, found).Read(lane);
  }
  std::ranges::stable_sort(found, {}, &CompilationEvents::start);
  AddCode(store, found);
  std::vector<analysis::LoggedTimes> out;
  for (const CompilationEvents& events : found) out.push_back(TimesOf(events));
  return out;
}

}  // namespace hloscope::debug
