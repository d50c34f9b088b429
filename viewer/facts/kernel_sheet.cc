#include "viewer/facts/kernel_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/analysis/place/placement.h"
#include "core/base/jobs.h"
#include "core/dump/own_compilation.h"
#include "core/graph/kernel_work.h"
#include "core/graph/lanes.h"
#include "profiler/profile_comparison.h"
#include "profiler/saturating_add.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;
using profiler::Attribution;
using profiler::InstructionTime;

struct Inputs {
  std::shared_ptr<const hlo::Module> module;         // null: none
  std::shared_ptr<const dump::KernelTable> kernels;  // null: none
  std::shared_ptr<const dump::DumpModel> dump;
  std::shared_ptr<const ProfileModel> profile, other;
  std::string other_error;  // why the second cannot be read
  int32_t dump_module = -1, stage = -1;
};

class SheetMaker {
 public:
  explicit SheetMaker(const Inputs& in) : in_(in) {}

  Result<std::shared_ptr<const KernelSheet>> Make(const std::stop_token& stop) {
    sheet_->stage = in_.stage;
    if (in_.module != nullptr) {
      for (uint32_t i = 0; i < in_.module->instructions().size(); ++i)
        ids_.try_emplace(in_.module->name(InstructionId(i)), InstructionId(i));
    }
    if (in_.dump != nullptr) sheet_->device = FactsFromDump(*in_.dump, in_.dump_module);
    if (in_.profile != nullptr && sheet_->device.source.empty()) {
      sheet_->device = profiler::FactsFromTrace(in_.profile->store());
    }
    HLOSCOPE_TRY(AddTimes(stop));
    AddKernels();
    HLOSCOPE_TRY(AddOthers(stop));
    if (!sheet_->has_times && !sheet_->has_others) AddRunning();
    sheet_->is_estimate =
        !sheet_->has_times && !sheet_->has_others && in_.module != nullptr && !sheet_->rows.empty();
    for (KernelRow& row : sheet_->rows) Finish(row);
    if (sheet_->is_estimate) AddBounds();
    std::ranges::stable_sort(sheet_->rows, [this](const KernelRow& a, const KernelRow& b) {
      if (sheet_->is_simulated && a.sums.model_us != b.sums.model_us)
        return a.sums.model_us > b.sums.model_us;
      if (a.self != b.self) return a.self > b.self;
      if (sheet_->is_estimate && a.cost.bytes() != b.cost.bytes())
        return a.cost.bytes() > b.cost.bytes();
      return a.name < b.name;
    });
    Explain();
    return std::shared_ptr<const KernelSheet>(sheet_);
  }

 private:
  // Every instruction of the module in view that took time; of a trace alone, those of all its
  // modules.
  Status AddTimes(const std::stop_token& stop) {
    if (in_.profile == nullptr) return {};
    const Attribution& attribution = *in_.profile->attribution;
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<profiler::LaunchSums> sums,
                              profiler::LaunchSumsOf(attribution, stop));
    const auto elsewhere =
        sums.empty() ? std::vector<std::vector<KernelElsewhere>>() : ElsewhereOf(attribution);
    const std::optional<uint32_t> own = in_.profile->ModuleFor(in_.dump_module);
    for (const InstructionTime& time : attribution.times()) {
      if (in_.dump != nullptr && own != time.target.module) continue;
      const hlo::Module& m = *attribution.modules()[time.target.module].module;
      KernelRow row = RowFor(m, time.target.instruction);
      if (in_.module == nullptr) row.instruction = {};
      row.count = time.count;
      row.self = time.self;
      row.total = time.total;
      row.min = time.min;
      row.max = time.max;
      row.longest = time.longest;
      sheet_->work = profiler::SaturatingAdd(sheet_->work, time.self);
      const auto index = static_cast<size_t>(&time - attribution.times().data());
      if (!sums.empty()) {
        row.sums = sums[index];
        row.elsewhere = elsewhere[index];
      }
      sheet_->is_simulated |= row.sums.launches > 0;
      sheet_->has_metrics |= row.sums.metrics.launches() > 0;
      sheet_->model_us += row.sums.model_us;
      if (in_.module == nullptr) {
        const auto& traced = in_.profile->attribution->modules()[time.target.module];
        row.cost = graph::CostOfKernel(*traced.module, time.target.instruction);
      }
      Place(std::move(row));
    }
    sheet_->has_times = !sheet_->rows.empty();
    return {};
  }

  // Kernels are code of the module as it was compiled.
  bool IsOfFinalStage() const { return in_.stage == in_.dump->FinalStage(in_.dump_module); }

  KernelRow RowFor(const hlo::Module& m, InstructionId id) const {
    KernelRow row;
    row.name = m.name(id);
    row.code = m[id].opcode;
    row.opcode = hlo::ToString(row.code);
    row.instruction = id;
    return row;
  }

  void Place(KernelRow row) {
    rows_.try_emplace(row.name, sheet_->rows.size());
    sheet_->rows.push_back(std::move(row));
  }

  void AddKernels() {
    if (in_.kernels == nullptr || in_.module == nullptr || !IsOfFinalStage()) return;
    for (size_t k = 0; k < in_.kernels->kernels.size(); ++k) {
      const dump::Kernel& kernel = in_.kernels->kernels[k];
      if (kernel.instructions.empty()) AddKernel(kernel, k, kernel.name);
      for (const std::string& name : kernel.instructions) {
        if (!rows_.contains(name)) {
          auto id = ids_.find(name);
          if (id != ids_.end()) Place(RowFor(*in_.module, id->second));
        }
        AddKernel(kernel, k, name);
      }
    }
  }

  void AddKernel(const dump::Kernel& kernel, size_t index, const std::string& name) {
    if (!rows_.contains(name)) {
      KernelRow row;
      row.name = name;
      Place(std::move(row));
    }
    KernelRow& row = sheet_->rows[rows_.at(name)];
    row.kernel = kernel.name;
    row.kernel_index = static_cast<int32_t>(index);
    row.launch = kernel.launch;
    row.registers = kernel.registers;
    row.shared_bytes = kernel.shared_bytes;
    if (!row.launch.threads && kernel.max_threads) {
      row.launch.threads = dump::Extent3{*kernel.max_threads, 1, 1};
    }
  }

  // Everything that would run by itself: fusions, library calls, copies, collectives, the host.
  void AddRunning() {
    if (in_.module == nullptr || in_.dump == nullptr) return;
    const analysis::Placement placement =
        analysis::PlacementIn(*in_.dump, in_.dump_module, *in_.module);
    if (!placement.compiled) return;
    for (uint32_t i = 0; i < placement.instructions.size(); ++i) {
      const InstructionId id(i);
      if (graph::Executes(placement.instructions[i].place) &&
          !rows_.contains(std::string(in_.module->name(id))))
        Place(RowFor(*in_.module, id));
    }
  }

  // The second profile, by the names of module and instruction.
  Status AddOthers(const std::stop_token& stop) {
    if (in_.other == nullptr) return {};
    const std::string name = in_.dump == nullptr || in_.dump_module < 0
                                 ? std::string()
                                 : in_.dump->modules()[static_cast<size_t>(in_.dump_module)].name;
    const auto after = RecordingOf(*in_.other, name, std::nullopt);
    std::vector<profiler::ComparedRecording> before;
    if (in_.profile != nullptr)
      before.push_back(RecordingOf(*in_.profile, name, in_.profile->ModuleFor(in_.dump_module)));
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto comparison,
        profiler::CompareProfiles(before, {&after, 1}, SharedJobs(AvailableCpus()), stop));
    if (!name.empty()) {
      std::erase_if(comparison.modules, [&](const auto& runs) { return runs.module != name; });
      if (!comparison.modules.empty()) comparison.runs = comparison.modules.front().ratio();
    }
    for (const profiler::ComparedTime& time : comparison.rows) {
      if (!name.empty() && time.module != name) continue;
      if (time.after_count > 0 && !rows_.contains(time.instruction)) AddOther(time);
      const auto at = rows_.find(time.instruction);
      if (at == rows_.end()) continue;
      KernelRow& row = sheet_->rows[at->second];
      row.verdict = time.verdict;
      row.ratio = time.ratio;
      row.other_count += time.after_count;
      row.other_self = profiler::SaturatingAdd(row.other_self, time.after);
      row.other_time += time.after_scaled;
      sheet_->other_time += time.after_scaled;
      sheet_->other_work = profiler::SaturatingAdd(sheet_->other_work, time.after);
      sheet_->has_others |= time.after_count > 0;
    }
    sheet_->other_path = in_.other->path;
    sheet_->comparison = std::make_shared<const profiler::ProfileComparison>(std::move(comparison));
    return {};
  }

  // One that took no time in the first profile, though the program in view may have it.
  void AddOther(const profiler::ComparedTime& time) {
    KernelRow row;
    row.name = time.instruction;
    row.opcode = time.opcode;
    row.code = hlo::OpcodeFromText(time.opcode).value_or(hlo::Opcode::kCustomCall);
    const auto id = ids_.find(time.instruction);
    if (id != ids_.end()) row.instruction = id->second;
    Place(std::move(row));
  }

  // The programs of one module, `own` where it is known which; of all where no name is given.
  static profiler::ComparedRecording RecordingOf(const ProfileModel& model, const std::string& name,
                                                 std::optional<uint32_t> own) {
    profiler::ComparedRecording recording =
        profiler::RecordingOf(*model.profile, model.attribution, false);
    if (name.empty()) return recording;
    const auto& modules = model.attribution->modules();
    if (own) {
      recording.programs = {modules[*own].program};
      return recording;
    }
    std::set<int64_t> named;
    for (const profiler::AttributedModule& m : modules) {
      const bool counts = recording.programs.empty() || recording.programs.contains(m.program);
      if (m.name == name && counts) named.insert(m.program);
    }
    if (!named.empty()) recording.programs = std::move(named);
    return recording;
  }

  void AddBounds() {
    const hlo::Module& module = *in_.module;
    const graph::KernelMap map = graph::MapKernels(module, analysis::FindPlacement(module));
    const std::vector<graph::KernelWork> works = graph::WorkOf(module, map);
    std::unordered_map<uint32_t, const graph::KernelWork*> by_instruction;
    for (size_t k = 0; k < works.size(); ++k)
      by_instruction.emplace(map.kernels[k].instruction.index, &works[k]);
    for (KernelRow& row : sheet_->rows) {
      const auto work = by_instruction.find(row.instruction.index);
      if (!row.instruction.valid() || work == by_instruction.end()) continue;
      const double least = graph::LeastTime(*work->second, sheet_->device);
      if (least > 0) row.bound = {work->second->flops, work->second->traffic.bytes(), least};
    }
  }

  void Finish(KernelRow& row) {
    if (row.instruction.valid() && in_.module != nullptr)
      row.cost = graph::CostOfKernel(*in_.module, row.instruction);
    if (row.launch.threads) {
      const auto& [x, y, z] = *row.launch.threads;
      const double threads =
          static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
      row.occupancy = profiler::Occupancy(sheet_->device, threads,
                                          static_cast<double>(row.registers.value_or(0)),
                                          static_cast<double>(row.shared_bytes.value_or(0)));
      row.is_occupancy_bound = !row.registers.has_value();
    }
    if (row.count > 0) AddDetails(in_.profile->store(), row);
  }

  // Whose times they are, where a profile of ours says it, and of which stage.
  void SayWhatRan() {
    const std::optional<uint32_t> own = in_.profile->ModuleFor(in_.dump_module);
    if (!own) return;
    const std::string program =
        fmt::format("program {}", in_.profile->attribution->modules()[*own].program);
    std::string note;
    for (const auto& [key, value] : in_.profile->profile->environment) {
      if (key == program) note = "times of " + value;
    }
    if (!IsOfFinalStage()) {
      const dump::ModuleEntry& entry = in_.dump->modules()[static_cast<size_t>(in_.dump_module)];
      note += fmt::format("{}of stage {}", note.empty() ? "times " : ", ",
                          entry.stages[static_cast<size_t>(in_.stage)].name);
      if (HasCode()) note += "; kernels of the compiled module are not shown";
    }
    if (!note.empty()) sheet_->notes.push_back(std::move(note));
  }

  bool HasCode() const { return in_.kernels != nullptr && !in_.kernels->kernels.empty(); }

  bool IsOwn() const {
    return in_.dump != nullptr && dump::IsOwnCompilation(*in_.dump, in_.dump_module);
  }

  void Explain() {
    if (sheet_->is_simulated) sheet_->notes.push_back(SimulationText(*sheet_));
    if (in_.profile != nullptr && in_.dump != nullptr && sheet_->has_times) SayWhatRan();
    if (in_.profile == nullptr) {
      sheet_->notes.emplace_back(
          IsOwn() ? "estimated from shapes; record times with `hloscope run MODULE --profile "
                    "FILE`, then `hloscope open DUMP FILE`"
                  : "estimated from shapes; record times with jax.profiler.trace(FOLDER), then "
                    "`hloscope open DUMP TRACE`");
    } else if (!sheet_->has_times) {
      sheet_->notes.emplace_back(
          "the trace has no instruction of this module: it is of another program or another "
          "compilation");
    }
    if (!in_.other_error.empty()) {
      sheet_->notes.push_back("cannot read the second profile: " + in_.other_error);
    } else if (in_.other != nullptr && !sheet_->has_others) {
      sheet_->notes.push_back("the second profile, " + in_.other->path +
                              ", has no instruction of a module of this name");
    }
    if (sheet_->comparison != nullptr && sheet_->has_others) {
      for (const std::string& note : sheet_->comparison->notes) sheet_->notes.push_back(note);
    }
    if (in_.dump != nullptr && !HasCode()) {
      const auto module = static_cast<size_t>(in_.dump_module);
      sheet_->notes.push_back(IsOwn() ? dump::kNoOwnCode : NoCodeText(in_.dump->modules()[module]));
    }
  }

  const Inputs& in_;
  std::shared_ptr<KernelSheet> sheet_ = std::make_shared<KernelSheet>();
  std::unordered_map<std::string, size_t> rows_;
  std::unordered_map<std::string_view, InstructionId> ids_;  // of the program in view
};

struct SheetKey {
  using Value = KernelSheet;
  int32_t module = -1;
  std::string path, other, failed;
  auto operator<=>(const SheetKey&) const = default;
};

}  // namespace

const Pending<KernelSheet>* KernelSheetOf(Context& context) {
  Inputs in;
  SheetKey key;
  if (context.document.dump().waiting()) return nullptr;
  for (size_t which : {size_t{0}, size_t{1}}) {
    const Pending<ProfileModel>* profile = ProfileOf(context, which);
    if (profile == nullptr) continue;
    if (profile->waiting()) return nullptr;
    if (!profile->ready()) {
      if (which == 1) in.other_error = profile->error.ToString();
      key.failed += in.other_error;
      continue;
    }
    (which == 0 ? in.profile : in.other) = profile->value;
    (which == 0 ? key.path : key.other) = (*profile)->path;
  }
  if (context.document.dump().ready() && context.navigation.module() >= 0) {
    in.dump = context.document.dump().value;
    in.dump_module = context.navigation.module();
    const int32_t ran = in.profile == nullptr ? -1 : in.profile->StageFor(in.dump_module);
    in.stage = ran >= 0 ? ran : in.dump->FinalStage(in.dump_module);
    if (in.stage >= 0) {
      const Pending<hlo::Module>& module = context.data.Module(in.dump_module, in.stage);
      if (module.waiting()) return nullptr;
      in.module = module.value;
    }
    const Pending<dump::KernelTable>& kernels = context.data.Kernels(in.dump_module);
    if (kernels.waiting()) return nullptr;
    in.kernels = kernels.value;
    key.module = in.dump_module;
  }
  return &context.cache.Get(key, "attributing times to kernels", [in](TaskControl& control) {
    return SheetMaker(in).Make(control.stop());
  });
}

}  // namespace hloscope::viewer
