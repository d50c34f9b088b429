// From one selection to everything that stands for it elsewhere.
#include "viewer/counterparts.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/debug/lineage.h"
#include "viewer/text_line.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;

// The search as it goes on; one use.
class Search {
 public:
  Search(const dump::DumpModel& dump, const debug::Lineage* lineage, const Selection& selection,
         const std::stop_token& stop)
      : dump_(dump), lineage_(lineage), selection_(selection), stop_(stop) {
    out_.of = selection;
    out_.module = ModuleOf(dump, selection);
  }

  Counterparts Run() {
    if (out_.module < 0) return std::move(out_);
    out_.final_stage = dump_.FinalStage(out_.module);
    AddStart();
    if (!stop_.stop_requested()) FollowStages();
    if (!stop_.stop_requested()) AddKernelInstructions();
    if (!stop_.stop_requested()) AddThunks();
    if (!stop_.stop_requested()) AddKernels();
    if (!stop_.stop_requested()) AddBuffers();
    if (out_.source_file.empty()) AddSourceLine();
    return std::move(out_);
  }

 private:
  template <typename T>
  std::shared_ptr<const T> Take(Result<std::shared_ptr<const T>> read) {
    if (read) return *read;
    std::string note = read.error().ToString();
    if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
    return nullptr;
  }
  std::shared_ptr<const hlo::Module> ModuleAt(int32_t stage) {
    return stage < 0 ? nullptr : Take(dump_.Module(out_.module, stage));
  }

  void Start(int32_t stage, InstructionId id) {
    if (std::ranges::find(starts_, std::pair(stage, id)) != starts_.end()) return;
    starts_.emplace_back(stage, id);
    AddStation(stage, id, 1, debug::LinkReason::kSame);
  }
  void StartByName(int32_t stage, std::span<const std::string> names) {
    auto module = ModuleAt(stage);
    if (module == nullptr) return;
    std::unordered_set<std::string_view> wanted(names.begin(), names.end());
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      if (wanted.contains(module->name(InstructionId(i)))) Start(stage, InstructionId(i));
    }
  }

  // The instructions the selection is, before any stage is left.
  void AddStart() {
    switch (selection_.kind) {
      case SelectionKind::kInstruction:
      case SelectionKind::kEvent:
        if (selection_.instruction.valid() && selection_.stage >= 0)
          Start(selection_.stage, selection_.instruction);
        break;
      case SelectionKind::kComputation:
        StartAtCallers();
        break;
      case SelectionKind::kThunk:
        if (auto thunks = Take(dump_.Thunks(out_.module)))
          if (auto i = static_cast<size_t>(selection_.thunk); i < thunks->thunks.size())
            StartByName(out_.final_stage, std::span(&thunks->thunks[i].instruction, 1));
        break;
      case SelectionKind::kKernel:
        if (auto kernels = Take(dump_.Kernels(out_.module)))
          if (auto i = static_cast<size_t>(selection_.kernel); i < kernels->kernels.size())
            StartByName(out_.final_stage, kernels->kernels[i].instructions);
        break;
      case SelectionKind::kBuffer:
        if (auto buffers = Take(dump_.Buffers(out_.module)))
          if (auto i = static_cast<size_t>(selection_.buffer); i < buffers->values.size())
            StartByName(out_.final_stage, std::span(&buffers->values[i].instruction, 1));
        break;
      case SelectionKind::kTextLine:
        StartAtTextLine();
        break;
      case SelectionKind::kSourceLine:
        StartAtSourceLine();
        break;
      default:
        break;
    }
  }

  void StartAtCallers() {
    auto module = ModuleAt(selection_.stage);
    if (module == nullptr) return;
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      InstructionId id(i);
      if (std::ranges::count(module->CalledComputations((*module)[id]), selection_.computation) > 0)
        Start(selection_.stage, id);
    }
  }

  void StartAtTextLine() {
    auto file = static_cast<size_t>(selection_.file);
    if (file >= dump_.files().size()) return;
    const dump::FileEntry& entry = dump_.files()[file];
    out_.lines.push_back({selection_.file, selection_.line, selection_.line});
    if (entry.kind == dump::FileKind::kHloText || entry.kind == dump::FileKind::kBufferAssignment) {
      Result<FileView> view = dump_.OpenFile(selection_.file);
      if (!view) return;
      std::string name(NameOnLine(LineOf(view->bytes(), selection_.line), entry.kind));
      if (name.empty()) return;
      int32_t stage = entry.kind == dump::FileKind::kHloText && entry.stage >= 0 ? entry.stage
                                                                                 : out_.final_stage;
      StartByName(stage, std::span(&name, 1));
      return;
    }
    StartAtCodeLine();
  }

  void StartAtCodeLine() {
    auto has = [&](const dump::TextRange& range) {
      return range.file == selection_.file && range.first_line <= selection_.line &&
             selection_.line <= range.last_line;
    };
    if (auto kernels = Take(dump_.Kernels(out_.module))) {
      for (const dump::Kernel& kernel : kernels->kernels) {
        if (has(kernel.ptx) || has(kernel.llvm) || has(kernel.llvm_unoptimized) ||
            has(kernel.triton) || has(kernel.mlir))
          StartByName(out_.final_stage, kernel.instructions);
      }
    }
    if (auto thunks = Take(dump_.Thunks(out_.module))) {
      for (const dump::Thunk& thunk : thunks->thunks) {
        if (thunks->file == selection_.file && thunk.line == selection_.line)
          StartByName(out_.final_stage, std::span(&thunk.instruction, 1));
      }
    }
  }

  void StartAtSourceLine() {
    out_.source_file = selection_.source_file;
    out_.source_line = selection_.source_line;
    // At most this many are followed: a line of a loop over layers is thousands of instructions.
    constexpr size_t kMost = 2000;
    for (int32_t stage : {out_.final_stage, 0}) {
      auto module = ModuleAt(stage);
      if (module == nullptr) continue;
      for (uint32_t i = 0; i < module->instructions().size() && starts_.size() < kMost; ++i) {
        debug::SourceLine line = debug::SourceLineOf(*module, InstructionId(i));
        if (line.line == selection_.source_line && line.file == selection_.source_file)
          Start(stage, InstructionId(i));
      }
      if (out_.final_stage == 0) break;
    }
  }

  void AddStation(int32_t stage, InstructionId id, float confidence, debug::LinkReason reason) {
    if (!seen_.emplace(static_cast<uint64_t>(stage) << 32 | id.index).second) return;
    out_.stages.push_back(
        {.stage = stage, .instruction = id, .confidence = confidence, .reason = reason});
    if (stage == out_.final_stage) out_.final_instructions.push_back(id);
  }

  // Through the other stages; with many starts only the first few, which say what they are.
  void FollowStages() {
    constexpr size_t kFollowed = 8;
    for (size_t i = 0; lineage_ != nullptr && i < std::min(kFollowed, starts_.size()); ++i) {
      if (stop_.stop_requested()) return;
      auto [stage, id] = starts_[i];
      AddChain(lineage_->Ancestors(stage, id));
      AddChain(lineage_->Descendants(stage, id));
    }
    std::ranges::stable_sort(out_.stages, [](const StageCounterpart& a, const StageCounterpart& b) {
      return a.stage != b.stage ? a.stage < b.stage : a.confidence > b.confidence;
    });
  }
  void AddChain(const Result<debug::Chain>& chain) {
    if (!chain) {
      out_.notes.push_back(chain.error().ToString());
      return;
    }
    for (const debug::Station& station : chain->stations)
      AddStation(station.stage, station.instruction, station.confidence, station.reason);
  }

  void AddKernelInstructions() {
    auto module = out_.final_instructions.empty() ? nullptr : ModuleAt(out_.final_stage);
    if (module == nullptr) return;
    std::vector<InstructionId> kernel_of = debug::KernelInstructions(*module);
    for (InstructionId id : out_.final_instructions) {
      names_.insert(std::string(module->name(id)));
      if (id.index >= kernel_of.size() || !kernel_of[id.index].valid()) continue;
      InstructionId kernel = kernel_of[id.index];
      names_.insert(std::string(module->name(kernel)));
      if (std::ranges::find(out_.kernel_instructions, kernel) == out_.kernel_instructions.end())
        out_.kernel_instructions.push_back(kernel);
    }
  }

  void AddThunks() {
    auto thunks = Take(dump_.Thunks(out_.module));
    if (thunks == nullptr) return;
    for (size_t i = 0; i < thunks->thunks.size(); ++i) {
      const dump::Thunk& thunk = thunks->thunks[i];
      bool own =
          selection_.kind == SelectionKind::kThunk && selection_.thunk == static_cast<int32_t>(i);
      if (!own && (thunk.instruction.empty() || !names_.contains(thunk.instruction))) continue;
      out_.thunks.push_back(static_cast<int32_t>(i));
      if (thunk.line > 0) out_.lines.push_back({thunks->file, thunk.line, thunk.line});
    }
  }

  void AddKernels() {
    auto kernels = Take(dump_.Kernels(out_.module));
    if (kernels == nullptr) return;
    for (size_t i = 0; i < kernels->kernels.size(); ++i) {
      const dump::Kernel& kernel = kernels->kernels[i];
      bool own =
          selection_.kind == SelectionKind::kKernel && selection_.kernel == static_cast<int32_t>(i);
      if (!own && std::ranges::none_of(kernel.instructions,
                                       [&](const auto& name) { return names_.contains(name); }))
        continue;
      out_.kernels.push_back(static_cast<int32_t>(i));
      for (const dump::TextRange& range :
           {kernel.ptx, kernel.llvm, kernel.llvm_unoptimized, kernel.triton, kernel.mlir}) {
        if (range.found()) out_.lines.push_back({range.file, range.first_line, range.last_line});
      }
    }
  }

  void AddBuffers() {
    auto buffers = Take(dump_.Buffers(out_.module));
    if (buffers == nullptr) return;
    for (size_t i = 0; i < buffers->values.size(); ++i) {
      const dump::BufferValue& value = buffers->values[i];
      bool own =
          selection_.kind == SelectionKind::kBuffer && selection_.buffer == static_cast<int32_t>(i);
      if (own || (!value.instruction.empty() && names_.contains(value.instruction)))
        out_.buffers.push_back(static_cast<int32_t>(i));
    }
  }

  void AddSourceLine() {
    for (const StageCounterpart& counterpart : out_.stages) {
      auto module = ModuleAt(counterpart.stage);
      if (module == nullptr) return;
      debug::SourceLine line = debug::SourceLineOf(*module, counterpart.instruction);
      if (line.line <= 0) continue;
      out_.source_file = line.file;
      out_.source_line = line.line;
      return;
    }
  }

  const dump::DumpModel& dump_;
  const debug::Lineage* lineage_;
  const Selection& selection_;
  const std::stop_token& stop_;
  Counterparts out_;
  std::vector<std::pair<int32_t, InstructionId>> starts_;
  std::unordered_set<uint64_t> seen_;
  std::unordered_set<std::string> names_;  // of final and kernel instructions
};

}  // namespace

Counterparts FindCounterparts(const dump::DumpModel& dump, const debug::Lineage* lineage,
                              const Selection& selection, const std::stop_token& stop) {
  return Search(dump, lineage, selection, stop).Run();
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
