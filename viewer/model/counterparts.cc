// From one selection to everything that stands for it elsewhere.
#include "viewer/model/counterparts.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/analysis/align/lineage.h"
#include "core/analysis/align/provenance.h"
#include "core/hlo/analysis/call_graph.h"
#include "viewer/model/text_line.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;

// The search as it goes on; one use.
class Search {
 public:
  Search(const analysis::Provenance& provenance, const Selection& selection, bool whole,
         const std::stop_token& stop)
      : provenance_(provenance),
        dump_(provenance.model()),
        selection_(selection),
        whole_(whole),
        stop_(stop) {
    out_.of = selection;
    out_.module = provenance.module();
    out_.final_stage = provenance.final_stage();
  }

  Counterparts Run() {
    AddStart();
    AddOwn();
    // With many starts only the first few are followed, which say what they are.
    constexpr size_t kFollowed = 8;
    for (size_t i = 0; whole_ && i < std::min(kFollowed, starts_.size()); ++i) {
      if (!stop_.stop_requested()) Follow(starts_[i].first, starts_[i].second);
    }
    std::ranges::stable_sort(out_.stages, [](const StageCounterpart& a, const StageCounterpart& b) {
      return a.stage != b.stage ? a.stage < b.stage : a.confidence > b.confidence;
    });
    for (std::vector<int32_t>* list : {&out_.thunks, &out_.kernels, &out_.buffers}) {
      std::ranges::sort(*list);
      list->erase(std::ranges::unique(*list).begin(), list->end());
    }
    if (whole_) AddKernelInstructions();
    AddLines();
    return std::move(out_);
  }

 private:
  template <typename T>
  const T* Take(const Result<T>& read) {
    if (read) return &*read;
    Note(read.error().ToString());
    return nullptr;
  }
  void Note(const std::string& note) {
    if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
  }

  void Start(int32_t stage, InstructionId id) {
    // A line of a loop over layers is thousands of instructions.
    constexpr size_t kMax = 2000;
    if (starts_.size() >= kMax || !AddStep(stage, id, 1, analysis::LinkReason::kSame)) return;
    if (starts_.empty()) out_.start_stage = stage;
    starts_.emplace_back(stage, id);
    if (stage == out_.final_stage) AddComputing(id);
  }
  // First those that are of no fusion: what a kernel or buffer is, not what is inside it.
  void StartAll(int32_t stage, const Result<std::vector<InstructionId>>& ids) {
    const std::vector<InstructionId>* found = Take(ids);
    if (found == nullptr) return;
    const auto module = dump_.Module(out_.module, stage);
    if (!module) return Note(module.error().ToString());
    const std::vector<InstructionId> outer = analysis::KernelInstructions(**module);
    for (const bool is_head : {true, false}) {
      for (const InstructionId id : *found) {
        if ((outer[id.index] == id) == is_head) Start(stage, id);
      }
    }
  }
  void AddComputing(InstructionId id) {
    if (std::ranges::find(out_.computing, id) == out_.computing.end()) out_.computing.push_back(id);
  }
  bool AddStep(int32_t stage, InstructionId id, float confidence, analysis::LinkReason reason) {
    if (!seen_.emplace(static_cast<uint64_t>(stage) << 32 | id.index).second) return false;
    out_.stages.push_back(
        {.stage = stage, .instruction = id, .confidence = confidence, .reason = reason});
    if (stage == out_.final_stage) out_.final_instructions.push_back(id);
    return true;
  }

  // The instructions the selection is, before any stage is left.
  void AddStart() {
    int32_t final_stage = out_.final_stage;
    switch (selection_.kind) {
      case SelectionKind::kInstruction:
      case SelectionKind::kEvent:
        return StartAtInstruction();
      case SelectionKind::kComputation:
        return StartAtCallers();
      case SelectionKind::kThunk:
        return StartAll(final_stage, provenance_.OfThunk(selection_.thunk));
      case SelectionKind::kKernel:
        return StartAll(final_stage, provenance_.OfKernel(selection_.kernel));
      case SelectionKind::kBuffer:
        return StartAll(final_stage, provenance_.OfBuffer(selection_.buffer));
      case SelectionKind::kTextLine:
        return StartAtTextLine();
      case SelectionKind::kSourceLine:
        out_.source_file = selection_.source_file;
        out_.source_line = selection_.source_line;
        for (int32_t stage : {final_stage, 0}) {
          if (stage >= 0 && (stage == final_stage || stage != out_.final_stage))
            StartAll(stage,
                     provenance_.OfLine(stage, selection_.source_file, selection_.source_line));
        }
        return;
      default:
        return;
    }
  }

  // The id may be of a dump that has changed since it was kept.
  void StartAtInstruction() {
    if (!selection_.instruction.valid() || selection_.stage < 0) return;
    auto module = dump_.Module(out_.module, selection_.stage);
    if (!module) return Note(module.error().ToString());
    if (selection_.instruction.index < (*module)->instructions().size())
      Start(selection_.stage, selection_.instruction);
  }

  // A thunk, kernel or buffer stands for itself even where nothing else is known of it.
  void AddOwn() {
    if (selection_.kind == SelectionKind::kThunk) out_.thunks.push_back(selection_.thunk);
    if (selection_.kind == SelectionKind::kKernel) out_.kernels.push_back(selection_.kernel);
    if (selection_.kind == SelectionKind::kBuffer) out_.buffers.push_back(selection_.buffer);
  }

  void StartAtCallers() {
    auto module = dump_.Module(out_.module, selection_.stage);
    if (!module) return Note(module.error().ToString());
    // A kept id may be of a dump that has changed since.
    if (selection_.computation.index >= (*module)->computations().size()) return;
    for (hlo::InstructionId caller : hlo::CallGraphOf(*(*module)).callers(selection_.computation)) {
      Start(selection_.stage, caller);
    }
  }

  void StartAtTextLine() {
    auto file = static_cast<size_t>(selection_.file);
    if (file >= dump_.files().size()) return;
    const dump::FileEntry& entry = dump_.files()[file];
    out_.lines.push_back({selection_.file, selection_.line, selection_.line});
    bool hlo_text = entry.kind == dump::FileKind::kHloText;
    if (!hlo_text && entry.kind != dump::FileKind::kBufferAssignment) return StartAtCodeLine();
    Result<FileView> view = dump_.OpenFile(selection_.file);
    if (!view) return Note(view.error().ToString());
    std::string_view name = NameOnLine(LineOf(view->bytes(), selection_.line), entry.kind);
    int32_t stage = hlo_text && entry.stage >= 0 ? entry.stage : out_.final_stage;
    if (name.empty() || stage < 0) return;
    auto module = dump_.Module(out_.module, stage);
    if (!module) return Note(module.error().ToString());
    for (uint32_t i = 0; i < (*module)->instructions().size(); ++i) {
      if ((*module)->name(InstructionId(i)) == name) return Start(stage, InstructionId(i));
    }
  }

  void StartAtCodeLine() {
    auto has = [&](const dump::TextRange& range) {
      return range.file == selection_.file && range.first_line <= selection_.line &&
             selection_.line <= range.last_line;
    };
    auto kernels = dump_.Kernels(out_.module);
    for (size_t k = 0; kernels && k < (*kernels)->kernels.size(); ++k) {
      const dump::Kernel& kernel = (*kernels)->kernels[k];
      if (has(kernel.ptx) || has(kernel.llvm) || has(kernel.llvm_unoptimized) ||
          has(kernel.assembly) || has(kernel.triton) || has(kernel.mlir)) {
        out_.kernels.push_back(static_cast<int32_t>(k));
        StartAll(out_.final_stage, provenance_.OfKernel(static_cast<int32_t>(k)));
      }
    }
    auto thunks = dump_.Thunks(out_.module);
    for (size_t t = 0; thunks && t < (*thunks)->thunks.size(); ++t) {
      if ((*thunks)->file != selection_.file || (*thunks)->thunks[t].line != selection_.line)
        continue;
      out_.thunks.push_back(static_cast<int32_t>(t));
      StartAll(out_.final_stage, provenance_.OfThunk(static_cast<int32_t>(t)));
    }
  }

  void Follow(int32_t stage, InstructionId id) {
    Result<analysis::InstructionFacts> facts = provenance_.FactsOf(stage, id);
    if (!facts) return Note(facts.error().ToString());
    for (const analysis::Chain* chain : {&facts->ancestors, &facts->descendants}) {
      for (const analysis::LineageStep& step : chain->steps)
        AddStep(step.stage, step.instruction, step.confidence, step.reason);
    }
    auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const analysis::LineageStep& step : facts->compiled) AddComputing(step.instruction);
    append(out_.kernels, facts->kernels);
    append(out_.thunks, facts->thunks);
    append(out_.buffers, facts->buffers);
    if (out_.source_file.empty() && facts->source.how != analysis::SourceHow::kNone) {
      out_.source_file = facts->source.line.file;
      out_.source_line = facts->source.line.line;
    }
    for (const std::string& note : facts->notes) Note(note);
  }

  void AddKernelInstructions() {
    if (out_.computing.empty()) return;
    auto module = dump_.Module(out_.module, out_.final_stage);
    if (!module) return;
    std::vector<InstructionId> kernel_of = analysis::KernelInstructions(**module);
    for (InstructionId id : out_.computing) {
      if (id.index >= kernel_of.size() || !kernel_of[id.index].valid()) continue;
      InstructionId kernel = kernel_of[id.index];
      if (std::ranges::find(out_.kernel_instructions, kernel) == out_.kernel_instructions.end())
        out_.kernel_instructions.push_back(kernel);
    }
  }

  void AddLines() {
    if (!out_.thunks.empty()) AddThunkLines();
    if (!out_.kernels.empty()) AddKernelLines();
  }
  void AddThunkLines() {
    auto thunks = dump_.Thunks(out_.module);
    for (int32_t t : out_.thunks) {
      if (!thunks || static_cast<size_t>(t) >= (*thunks)->thunks.size()) continue;
      int32_t line = (*thunks)->thunks[static_cast<size_t>(t)].line;
      if (line > 0) out_.lines.push_back({(*thunks)->file, line, line});
    }
  }
  void AddKernelLines() {
    auto kernels = dump_.Kernels(out_.module);
    for (int32_t k : out_.kernels) {
      if (!kernels || static_cast<size_t>(k) >= (*kernels)->kernels.size()) continue;
      const dump::Kernel& kernel = (*kernels)->kernels[static_cast<size_t>(k)];
      for (const dump::TextRange& range : {kernel.ptx, kernel.llvm, kernel.llvm_unoptimized,
                                           kernel.assembly, kernel.triton, kernel.mlir}) {
        if (range.found()) out_.lines.push_back({range.file, range.first_line, range.last_line});
      }
    }
  }

  const analysis::Provenance& provenance_;
  const dump::DumpModel& dump_;
  const Selection& selection_;
  bool whole_;
  const std::stop_token& stop_;
  Counterparts out_;
  std::vector<std::pair<int32_t, InstructionId>> starts_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

Counterparts FindCounterparts(const analysis::Provenance& provenance, const Selection& selection,
                              bool whole, const std::stop_token& stop) {
  return Search(provenance, selection, whole, stop).Run();
}

int32_t ModuleOf(const dump::DumpModel& dump, const Selection& selection) {
  auto modules = static_cast<int32_t>(dump.modules().size());
  if (selection.module >= 0) return selection.module < modules ? selection.module : -1;
  auto file = static_cast<size_t>(selection.file);
  if (selection.file >= 0 && file < dump.files().size()) return dump.files()[file].module;
  if (selection.kind == SelectionKind::kSourceLine && modules > 0) return 0;
  return -1;
}

hlo::InstructionId Counterparts::In(int32_t stage) const {
  auto found = std::ranges::find(stages, stage, &StageCounterpart::stage);
  return found != stages.end() ? found->instruction : hlo::InstructionId();
}
std::vector<InstructionId> Counterparts::AllIn(int32_t stage) const {
  std::vector<InstructionId> all;
  for (const StageCounterpart& each : stages) {
    if (each.stage == stage) all.push_back(each.instruction);
  }
  return all;
}

bool Counterparts::TouchedInto(int32_t stage) const {
  // A link belongs to the step it leads to, away from the start.
  int32_t there = stage <= start_stage ? stage - 1 : stage;
  auto found = std::ranges::find(stages, there, &StageCounterpart::stage);
  if (found == stages.end()) return In(stage).valid() && stage > 0 && stage <= start_stage;
  return found->reason != analysis::LinkReason::kSame;
}
bool Counterparts::InStage(int32_t stage, hlo::InstructionId id) const {
  return std::ranges::any_of(stages, [&](const StageCounterpart& counterpart) {
    return counterpart.stage == stage && counterpart.instruction == id;
  });
}
bool Counterparts::HasThunk(int32_t thunk) const {
  return std::ranges::binary_search(thunks, thunk);
}
bool Counterparts::HasKernel(int32_t kernel) const {
  return std::ranges::binary_search(kernels, kernel);
}
bool Counterparts::HasBuffer(int32_t buffer) const {
  return std::ranges::binary_search(buffers, buffer);
}
bool Counterparts::HasLine(int32_t file, int32_t line) const {
  return std::ranges::any_of(lines, [&](const TextLines& range) {
    return range.file == file && range.first <= line && line <= range.last;
  });
}

std::vector<Crumb> Breadcrumbs(const dump::DumpModel& dump, const Selection& selection,
                               const hlo::Module* module) {
  std::vector<Crumb> out;
  if (selection.kind == SelectionKind::kGraphNode) {
    // The graph is read already: something of it was selected.
    const auto graph = dump.TensorFlow(selection.file);
    const auto node = static_cast<size_t>(selection.node);
    if (!graph || node >= (*graph)->nodes.size()) return out;
    out.push_back({dump.files()[static_cast<size_t>(selection.file)].path,
                   Selection::OfTextLine(selection.file, 1)});
    out.push_back({(*graph)->nodes[node].name, selection});
    return out;
  }
  int32_t m = ModuleOf(dump, selection);
  if (m < 0) return out;
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
  out.push_back({entry.name, Selection::OfModule(m)});
  auto stage = static_cast<size_t>(selection.stage);
  if (selection.stage < 0 || stage >= entry.stages.size()) return out;
  out.push_back({entry.stages[stage].name, Selection::OfStage(m, selection.stage)});
  if (module == nullptr) return out;
  bool one =
      selection.instruction.valid() && selection.instruction.index < module->instructions().size();
  hlo::ComputationId computation =
      one ? (*module)[selection.instruction].computation : selection.computation;
  if (computation.valid() && computation.index < module->computations().size())
    out.push_back({std::string((*module)[(*module)[computation].name]),
                   Selection::OfComputation(m, selection.stage, computation)});
  if (one) {
    out.push_back({std::string(module->name(selection.instruction)),
                   Selection::OfInstruction(m, selection.stage, selection.instruction)});
  }
  return out;
}

}  // namespace hloscope::viewer
