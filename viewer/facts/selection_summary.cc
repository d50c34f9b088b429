// Sentences from counterparts, placement, kernels and times; of a stage, what it holds.
#include "viewer/facts/selection_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/analysis/align/fusion_facts.h"
#include "core/dump/own_compilation.h"
#include "core/graph/computed_by.h"
#include "core/graph/count_text.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/host_runs.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/tensorflow_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/requests.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;

std::string ExtentText(const dump::Extent3& extent) {
  return fmt::format("{}×{}×{}", extent[0], extent[1], extent[2]);
}

// A kernel of a CPU has none.
std::string LaunchText(const dump::Kernel& kernel, std::string_view device) {
  std::string text;
  if (kernel.launch.blocks) text += ", grid " + ExtentText(*kernel.launch.blocks);
  if (kernel.launch.threads) text += ", block " + ExtentText(*kernel.launch.threads);
  return text.empty() && device != "cpu" ? ", launch dimensions unknown" : text;
}

struct FusionKey {
  using Value = analysis::FusionFacts;
  int32_t module = -1, stage = -1;
  hlo::InstructionId instruction;
  auto operator<=>(const FusionKey&) const = default;
};

class Teller {
 public:
  Teller(Context& context, const Counterparts& found)
      : context_(context),
        found_(found),
        entry_(context.document.dump()->modules()[static_cast<size_t>(found.module)]) {}

  std::vector<SummaryLine> Summarize() {
    const bool is_whole = context_.navigation.counterparts_complete();
    if (is_whole) FindUses();
    final_ = found_.final_instructions.empty() ? InstructionId()
             : found_.computing.empty()        ? found_.final_instructions.front()
                                               : found_.computing.front();
    if (final_.valid()) AddPlace();
    AddHostRun();
    if (map_ != nullptr) AddUses();
    if (is_whole) AddFusion();
    if (map_ != nullptr) AddTime();
    if (is_whole && context_.navigation.selection().kind == SelectionKind::kInstruction) AddFate();
    return std::move(lines_);
  }

 private:
  void AddLine(SummaryLine line) { lines_.push_back(std::move(line)); }

  const Pending<analysis::Placement>* PlacementInView() {
    const Pending<hlo::Module>& module = context_.data.Module(found_.module, found_.final_stage);
    if (!module.ready()) return nullptr;
    return &context_.cache.Get(PartKey<analysis::Placement>{found_.module}, "computing placement",
                               [dump = context_.document.dump().value, of = found_.module,
                                module = module.value](TaskControl&) {
                                 return Result<std::shared_ptr<const analysis::Placement>>(
                                     std::make_shared<const analysis::Placement>(
                                         analysis::PlacementIn(*dump, of, *module)));
                               });
  }

  // Who computes it and who reads it; nothing until all that needs is read.
  void FindUses() {
    const Pending<analysis::Placement>* placement = PlacementInView();
    if (placement == nullptr || !placement->ready() || !(*placement)->compiled) return;
    const Pending<hlo::Module>& module = context_.data.Module(found_.module, found_.final_stage);
    const Pending<graph::KernelMap>& map = context_.cache.Get(
        PartKey<graph::KernelMap>{found_.module}, "finding kernels",
        [module = module.value, placement = placement->value](TaskControl&) {
          return Computed<graph::KernelMap>(
              std::make_shared<const graph::KernelMap>(graph::MapKernels(*module, *placement)));
        });
    if (!map.ready()) return;
    map_ = map.value.get();
    uses_ = graph::UsesOf(*module, *map_, found_.computing);
  }

  void AddPlace() {
    const Pending<analysis::Placement>* placement = PlacementInView();
    if (placement == nullptr || !placement->ready() || !(*placement)->compiled) return;
    if (final_.index >= (*placement)->instructions.size()) return;
    const analysis::PlacedInstruction& placed = (*placement)->instructions[final_.index];
    if (placed.reason != hlo::FallbackReason::kNone) {
      AddLine(
          {.tone = Tone::kHost,
           .text = fmt::format("runs on {}: {}", Describe(placed.place), Describe(placed.reason)),
           .view = "home"});
    } else if (uses_.computed_by.empty() && placed.place != analysis::Place::kDeviceKernel &&
               placed.place != analysis::Place::kInKernel) {
      const bool is_none = placed.place == analysis::Place::kNoCode;
      AddLine({.text = fmt::format("{}{}", is_none ? "" : "runs as ", Describe(placed.place))});
    }
    AddTransfer(**placement);
  }

  // What a recorded run says, of the stage that ran.
  void AddHostRun() {
    const Pending<ProfileModel>* profile = ProfileOf(context_);
    if (profile == nullptr || !profile->ready()) return;
    const int32_t stage = (*profile)->StageFor(found_.module);
    if (stage < 0) return;
    const InstructionId id = found_.In(stage);
    const auto runs = HostRunsOf(context_, found_.module, stage);
    if (runs == nullptr || !id.valid()) return;
    const auto ran = runs->sentences.find(id.index);
    if (ran != runs->sentences.end())
      AddLine({.tone = Tone::kHost, .text = ran->second, .view = "timeline"});
  }

  void AddTransfer(const analysis::Placement& placement) {
    for (const analysis::Transfer& transfer : placement.transfers) {
      if (transfer.instruction != final_) continue;
      const ModuleFacts::Transfer shown{.instruction = final_,
                                        .name = {},
                                        .direction = transfer.direction,
                                        .bytes = transfer.bytes,
                                        .executions = transfer.executions};
      AddLine({.tone = Tone::kHost, .text = "moves " + TransferText(shown), .view = "home"});
    }
  }

  std::string NameOf(uint32_t kernel) const {
    return NameIn(found_.final_stage, map_->kernels[kernel].instruction);
  }

  void AddUses() {
    constexpr size_t kMax = 3;
    for (size_t i = 0; i < std::min(kMax, uses_.computed_by.size()); ++i)
      AddLine(ComputedBy(uses_.computed_by[i]));
    if (uses_.computed_by.size() > kMax)
      AddLine({.tone = Tone::kGood,
               .text = fmt::format("and by {} more: {} in all", uses_.computed_by.size() - kMax,
                                   uses_.computed_by.size()),
               .view = "kernels"});
    if (uses_.read_by.empty()) return;
    std::string names;
    for (size_t i = 0; i < std::min(kMax, uses_.read_by.size()); ++i)
      names += (i == 0 ? "" : ", ") + NameOf(uses_.read_by[i]);
    if (uses_.read_by.size() > kMax)
      names += fmt::format(" and {} more", uses_.read_by.size() - kMax);
    AddLine(
        {.text = "read by " + names,
         .selection = Selection::OfInstruction(found_.module, found_.final_stage,
                                               map_->kernels[uses_.read_by.front()].instruction)});
  }

  SummaryLine ComputedBy(uint32_t number) {
    const graph::KernelMap::Kernel& kernel = map_->kernels[number];
    const std::string name = NameOf(number);
    if (kernel.place == analysis::Place::kDeviceKernel) {
      const Pending<dump::KernelTable>& table = context_.data.Kernels(found_.module);
      for (size_t k = 0; table.ready() && k < table->kernels.size(); ++k) {
        const dump::Kernel& code = table->kernels[k];
        if (std::ranges::find(code.instructions, name) == code.instructions.end()) continue;
        return {.tone = Tone::kGood,
                .text = fmt::format("computed by kernel {}{}", code.name.substr(0, 80),
                                    LaunchText(code, entry_.device)),
                .view = "code"};
      }
      return {.tone = Tone::kGood, .text = "computed by kernel " + name, .view = "kernels"};
    }
    const analysis::PlacedInstruction& placed =
        (*PlacementInView())->instructions[kernel.instruction.index];
    if (kernel.place == analysis::Place::kLibraryCall)
      return {.tone = Tone::kGood,
              .text = fmt::format("computed by library call {}{}{}", name,
                                  placed.library.empty() ? "" : ": ", placed.library)};
    return {.tone = kernel.place == analysis::Place::kHost ? Tone::kHost : Tone::kGood,
            .text = fmt::format("runs as {}: {}", name, Describe(kernel.place))};
  }

  // Why it shares a kernel with others or does not: first what was left apart.
  void AddFusion() {
    const dump::DumpModel& dump = *context_.document.dump();
    if (!dump::IsOwnCompilation(dump, found_.module) || found_.start_stage < 0) return;
    const FusionKey key{found_.module, found_.start_stage, found_.In(found_.start_stage)};
    if (!key.instruction.valid()) return;
    const Pending<analysis::FusionFacts>& facts = context_.cache.Get(
        key, "reading fusion decisions",
        [provenance = context_.data.Provenance(found_.module),
         key](TaskControl&) -> Result<std::shared_ptr<const analysis::FusionFacts>> {
          HLOSCOPE_ASSIGN_OR_RETURN(
              analysis::FusionFacts read,
              analysis::FusionFactsOf(*provenance, key.stage, key.instruction));
          return std::make_shared<const analysis::FusionFacts>(std::move(read));
        });
    if (!facts.ready()) return;
    constexpr size_t kMax = 4;
    for (const dump::FusionDecision& d :
         std::span(facts->decisions).first(std::min(kMax, facts->decisions.size()))) {
      AddLine({.text = fmt::format("{}: {} into {}: {}", d.is_fused ? "fused" : "not fused",
                                   d.producer.substr(0, 60), d.consumer.substr(0, 60), d.reason),
               .selection = Selection::OfTextLine(facts->file, d.line),
               .view = "text"});
    }
    if (facts->decisions.size() <= kMax) return;
    AddLine({.text = graph::CountedText(facts->decisions.size() - kMax, "more fusion decision"),
             .selection = Selection::OfTextLine(facts->file, facts->decisions[kMax].line),
             .view = "text"});
  }

  void AddTime() {
    if (ProfilePaths(context_).empty()) return;
    const Pending<KernelSheet>* sheet = KernelSheetOf(context_);
    if (sheet == nullptr || !sheet->ready()) return;
    // The sum over what computes it, of the stage that the profile has.
    KernelRow sum;
    const bool is_final = (*sheet)->stage == found_.final_stage;
    std::vector<InstructionId> own =
        is_final ? std::vector<InstructionId>() : found_.AllIn((*sheet)->stage);
    if (is_final) {
      for (const uint32_t k : uses_.computed_by) own.push_back(map_->kernels[k].instruction);
    }
    for (const KernelRow& row : (*sheet)->rows) {
      if (!row.instruction.valid() || std::ranges::count(own, row.instruction) == 0) continue;
      sum.count += row.count;
      sum.self += row.self;
      sum.sums.launches += row.sums.launches;
      sum.sums.model_us += row.sums.model_us;
    }
    if (sum.count > 0) AddLine({.text = "takes " + TimeShareText(**sheet, sum), .view = "kernels"});
  }

  // "removed by algsimp"; where no pass was dumped there, "removed before STAGE".
  std::string By(std::string_view what, int32_t stage) const {
    return fmt::format("{} {} {}", what, IsMadeByPass(entry_, stage) ? "by" : "before",
                       PassName(entry_, stage).substr(0, 80));
  }
  std::string NameIn(int32_t stage, InstructionId id) const {
    const Pending<hlo::Module>& module = context_.data.Module(found_.module, stage);
    if (!module.ready() || !id.valid() || id.index >= module->instructions().size()) return {};
    return std::string(module->name(id)).substr(0, 80);
  }

  // Which pass made it, changed it last, or removed it.
  void AddFate() {
    if (found_.stages.empty() || found_.final_stage < 1) return;
    const int32_t first = found_.stages.front().stage, last = found_.stages.back().stage;
    if (first > 0) {
      AddLine({.text = By("made", first),
               .selection = Selection::OfInstruction(found_.module, first,
                                                     found_.stages.front().instruction),
               .view = "changes",
               .stage = first});
    }
    if (!final_.valid()) return AddRemoval(last);
    int32_t touched = last;
    while (touched > first && !found_.TouchedInto(touched)) --touched;
    if (touched <= first) {
      if (last == found_.final_stage && first < last)
        AddLine({.text = "no later pass changed it", .selection = {}, .view = {}});
      return;
    }
    const std::string now = NameIn(last, final_);
    const Selection& asked = context_.navigation.selection();
    const bool is_other = !now.empty() && now != NameIn(asked.stage, asked.instruction);
    AddLine({.text = By(is_other ? "now " + now + ", last changed" : "last changed", touched),
             .selection = Selection::OfInstruction(found_.module, touched, found_.In(touched)),
             .view = "changes",
             .stage = touched});
  }

  void AddRemoval(int32_t last) {
    const int32_t gone = context_.data.Provenance(found_.module)->lineage().Neighbour(last, 1);
    if (gone < 0) return;
    AddLine({.tone = Tone::kGone,
             .text = By("removed", gone),
             .selection =
                 Selection::OfInstruction(found_.module, last, found_.stages.back().instruction),
             .view = "changes",
             .stage = gone});
  }

  Context& context_;
  const Counterparts& found_;
  const dump::ModuleEntry& entry_;
  InstructionId final_;
  const graph::KernelMap* map_ = nullptr;  // null: not known yet
  graph::KernelUses uses_;
  std::vector<SummaryLine> lines_;
};

// What a stage holds; of a module, its stage in view.
std::vector<SummaryLine> SummarizeStage(Context& context) {
  std::vector<SummaryLine> lines;
  const int32_t module = context.navigation.module(), stage = context.navigation.stage();
  if (module < 0 || stage < 0) return lines;
  const dump::DumpModel& dump = *context.document.dump();
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  if (!entry.stages[static_cast<size_t>(stage)].pass.empty()) {
    const std::string name = PassName(entry, stage);
    lines.push_back({.text = IsMadeByPass(entry, stage) ? "after " + name : name});
  }
  const Pending<hlo::Module>& read = context.data.Module(module, stage);
  if (read.ready()) {
    lines.push_back({.text = fmt::format(
                         "{} in {}", graph::CountedText(read->instructions().size(), "instruction"),
                         graph::CountedText(read->computations().size(), "computation")),
                     .view = "graph"});
  }
  if (const int32_t file = dump.ModuleFile(module, stage); file >= 0) {
    lines.push_back({.text = "in " + dump.files()[static_cast<size_t>(file)].path, .view = "text"});
  }
  return lines;
}

// The event that is selected and its trace; null where that is not read.
const ProfileModel* TraceOfSelected(Context& context) {
  const Selection& now = context.navigation.selection();
  const Pending<ProfileModel>* model = ProfileOf(context);
  if (now.kind != SelectionKind::kEvent || model == nullptr || !model->ready()) return nullptr;
  const bool is_in = now.event >= 0 && now.event < static_cast<int64_t>((*model)->store().size());
  return is_in ? model->value.get() : nullptr;
}

// Facts about an event that is not attributed to an instruction.
std::vector<SummaryLine> SummarizeEvent(Context& context) {
  const ProfileModel* model = TraceOfSelected(context);
  if (model == nullptr) return {};
  const profiler::EventStore& store = model->store();
  const profiler::EventId event(static_cast<uint32_t>(context.navigation.selection().event));
  return {
      {.text = fmt::format("{}, starting {} after the start of the trace",
                           TimeText(static_cast<double>(store.duration(event))),
                           TimeText(static_cast<double>(store.start(event) - store.range().begin))),
       .view = "timeline"},
      {.text = "not attributed to an instruction of the dump"}};
}

}  // namespace

std::string NameOfSelectedEvent(Context& context) {
  const ProfileModel* model = TraceOfSelected(context);
  if (model == nullptr) return {};
  const profiler::EventId event(static_cast<uint32_t>(context.navigation.selection().event));
  return std::string(model->store().text(model->store().name(event)));
}

std::vector<SummaryLine> SummarizeSelection(Context& context) {
  const Selection& now = context.navigation.selection();
  const bool is_whole = now.kind == SelectionKind::kModule || now.kind == SelectionKind::kStage;
  if (context.document.dump().ready() && is_whole) return SummarizeStage(context);
  if (context.document.dump().ready() && now.kind == SelectionKind::kGraphNode)
    return SummarizeGraphNode(context);
  const bool is_one = now.kind == SelectionKind::kInstruction ||
                      now.kind == SelectionKind::kEvent || now.kind == SelectionKind::kThunk ||
                      now.kind == SelectionKind::kKernel || now.kind == SelectionKind::kBuffer ||
                      now.kind == SelectionKind::kTextLine ||
                      now.kind == SelectionKind::kSourceLine;
  if (!context.document.dump().ready() || !is_one) return {};
  const Counterparts& found = context.navigation.counterparts();
  const bool is_tied = found.module >= 0 && !found.stages.empty();
  if (now.kind == SelectionKind::kEvent && !is_tied) return SummarizeEvent(context);
  if (found.module < 0) return {};
  return Teller(context, found).Summarize();
}

void Follow(Context& context, const SummaryLine& line) {
  if (line.selection.kind != SelectionKind::kNothing) context.navigation.Select(line.selection);
  if (line.stage >= 0) {
    context.marks.Of<ShownChange>() = {.stage = line.stage,
                                       .version = context.navigation.version()};
  }
  if (!line.view.empty()) context.requests.Show(line.view);
}

}  // namespace hloscope::viewer
