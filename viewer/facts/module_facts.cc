// Reads a module's first and final stage and its tables.
#include "viewer/facts/module_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/analysis/align/fingerprint.h"
#include "core/analysis/programs/stage_texts.h"
#include "core/base/checked.h"
#include "core/graph/kernel_work.h"
#include "core/hlo/analysis/cost.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

// Most that are kept to be shown.
constexpr size_t kMaxListed = 100;

// Puts equal ones together.
class EqualsMaker {
 public:
  explicit EqualsMaker(std::vector<ModuleFacts::Equals>& all) : all_(all) {}
  void Add(const std::string& why, ModuleFacts::Moved one) {
    const auto [known, is_new] = at_.try_emplace(why, all_.size());
    if (is_new) all_.push_back({.why = why, .some = {}});
    ModuleFacts::Equals& equals = all_[known->second];
    ++equals.count;
    equals.unknown += one.bytes < 0 ? 1 : 0;
    if (one.bytes >= 0) {
      equals.bytes = CheckedAdd(std::max<int64_t>(equals.bytes, 0), one.bytes)
                         .value_or(std::numeric_limits<int64_t>::max());
    }
    if (equals.some.size() < kMaxListed) equals.some.push_back(std::move(one));
  }
  void Sort() { std::ranges::stable_sort(all_, std::greater(), &ModuleFacts::Equals::bytes); }

 private:
  std::vector<ModuleFacts::Equals>& all_;
  std::map<std::string, size_t> at_;
};

// What one execution moves where, and how often.
std::string WayText(const ModuleFacts::Transfer& t) {
  const bool is_out = t.direction == analysis::TransferDirection::kToHost;
  std::string text = is_out ? "to the host, " : "to the device, ";
  text += t.bytes < 0 ? "of unknown size" : BytesText(t.bytes);
  if (t.executions < 0) return text + ", executed an unknown number of times";
  if (t.executions == 1) return text + " once per run";
  return text + fmt::format(" × {} per run", CountText(t.executions));
}

void AddTransfers(const hlo::Module& module, const analysis::Placement& placement,
                  ModuleFacts& facts) {
  facts.transfer_count = std::ssize(placement.transfers);
  for (const analysis::Transfer& t : placement.transfers) {
    facts.transfers.push_back({.instruction = t.instruction,
                               .name = std::string(module.name(t.instruction)),
                               .direction = t.direction,
                               .bytes = t.bytes,
                               .executions = t.executions});
  }
  auto cost = [](const ModuleFacts::Transfer& t) { return std::pair(t.total(), t.bytes); };
  std::ranges::stable_sort(facts.transfers, std::greater(), cost);
  EqualsMaker equals(facts.equal_transfers);
  for (const ModuleFacts::Transfer& t : facts.transfers)
    equals.Add(WayText(t), {t.instruction, t.name, t.total()});
  equals.Sort();
  if (facts.transfers.size() > kMaxListed) facts.transfers.resize(kMaxListed);
}

void AddPlacement(const hlo::Module& module, const analysis::Placement& placement,
                  ModuleFacts& facts) {
  facts.compiled = placement.compiled;
  facts.places = placement.counts;
  // Launches: equal ones share their code.
  if (placement.compiled)
    facts.kernels = placement.counts[static_cast<size_t>(analysis::Place::kDeviceKernel)];
  for (uint32_t i = 0; i < placement.instructions.size(); ++i) {
    const analysis::PlacedInstruction& placed = placement.instructions[i];
    if (placed.reason == hlo::FallbackReason::kNone) continue;
    hlo::InstructionId id(i);
    ModuleFacts::Fallback fallback{.instruction = id,
                                   .name = std::string(module.name(id)),
                                   .reason = std::string(Describe(placed.reason)),
                                   .bytes = -1};
    auto transfer = std::ranges::find(placement.transfers, id, &analysis::Transfer::instruction);
    if (transfer != placement.transfers.end()) {
      fallback.bytes = transfer->bytes;
    } else if (placed.place == analysis::Place::kHost) {
      // Host and device share their memory: what it reads and writes.
      const hlo::Cost cost = graph::CostOfKernel(module, id);
      if (cost.bytes() > 0) fallback.bytes = hlo::WholeBytes(cost.bytes());
    }
    ++facts.fallback_count;
    facts.fallbacks.push_back(std::move(fallback));
  }
  std::ranges::stable_sort(facts.fallbacks, std::greater(), &ModuleFacts::Fallback::bytes);
  EqualsMaker equals(facts.equal_fallbacks);
  for (const ModuleFacts::Fallback& one : facts.fallbacks)
    equals.Add(one.reason, {one.instruction, one.name, one.bytes});
  equals.Sort();
  if (facts.fallbacks.size() > kMaxListed) facts.fallbacks.resize(kMaxListed);
}

// "f32[8,4] ×3, s32[]": equal neighbours once.
std::string ShapesText(const std::vector<std::string>& shapes) {
  constexpr size_t kMax = 400;
  std::string text;
  for (size_t i = 0; i < shapes.size();) {
    size_t end = i + 1;
    while (end < shapes.size() && shapes[end] == shapes[i]) ++end;
    if (text.size() > kMax) return text + fmt::format(", {} more", shapes.size() - i);
    text += (text.empty() ? "" : ", ") + shapes[i];
    if (end - i > 1) text += fmt::format(" ×{}", end - i);
    i = end;
  }
  return text.empty() ? "()" : text;
}

std::string SignatureOf(const hlo::Module& module) {
  std::vector<std::string> arguments, results;
  for (hlo::InstructionId id : module.Parameters(module.entry_id()))
    arguments.push_back(id.valid() ? hlo::ToString(module.shape(id), false) : "?");
  const hlo::Shape& result = module.shape(module.entry().root);
  if (result.IsTuple()) {
    for (const hlo::Shape& element : result.elements())
      results.push_back(hlo::ToString(element, false));
  }
  if (!result.IsTuple()) results.push_back(hlo::ToString(result, false));
  return ShapesText(arguments) + " → " + ShapesText(results);
}

// What distinguishes the module from others of its name.
void AddIdentity(const dump::DumpModel& dump, int32_t index, const hlo::Module& module,
                 ModuleFacts& facts) {
  facts.signature = SignatureOf(module);
  const std::string& name = dump.modules()[static_cast<size_t>(index)].name;
  if (std::ranges::count(dump.modules(), name, &dump::ModuleEntry::name) < 2) return;
  const uint64_t print = analysis::Fingerprint(module).computations[module.entry_id().index];
  facts.fingerprint = fmt::format("{:08x}", print >> 32);
}

}  // namespace

int64_t ModuleFacts::Transfer::total() const {
  if (bytes < 0 || executions < 0) return -1;
  return CheckedMul(bytes, executions).value_or(-1);
}

std::string MemoryText(const ModuleFacts& facts) {
  if (facts.argument_bytes < 0) return {};
  return fmt::format("arguments {}, results {}, temporaries {}", BytesText(facts.argument_bytes),
                     BytesText(facts.result_bytes), BytesText(facts.temporary_bytes));
}

std::string TransferText(const ModuleFacts::Transfer& t) {
  const std::string text = WayText(t);
  return t.executions == 1 || t.total() < 0 ? text : text + ": " + BytesText(t.total());
}

std::string EqualsText(const ModuleFacts::Equals& equals) {
  const bool is_one = equals.count == 1;
  std::string text = is_one ? "" : CountText(equals.count) + " × ";
  text += equals.why;
  const bool is_said = is_one && text.find(BytesText(equals.bytes)) != std::string::npos;
  if (equals.bytes < 0 || is_said) return text;
  text += equals.unknown > 0 ? ": at least " : ": ";
  text += BytesText(equals.bytes) + (is_one ? "" : " total");
  return text;
}

std::shared_ptr<const ModuleFacts> FindModuleFacts(const dump::DumpModel& dump, int32_t module) {
  auto facts = std::make_shared<ModuleFacts>();
  auto problem = [&](const Error& error) { facts->problems.push_back(error.ToString()); };
  int32_t final_stage = dump.FinalStage(module);
  if (final_stage >= 0) {
    if (auto read = dump.Module(module, final_stage)) {
      facts->instructions = static_cast<int64_t>((*read)->instructions().size());
      facts->fusions = std::ranges::count((*read)->instructions(), hlo::Opcode::kFusion,
                                          &hlo::Instruction::opcode);
      const analysis::Placement placement = analysis::PlacementIn(dump, module, **read);
      AddPlacement(**read, placement, *facts);
      AddTransfers(**read, placement, *facts);
      if (final_stage == 0) AddIdentity(dump, module, **read, *facts);
    } else {
      problem(read.error());
    }
    if (final_stage > 0) {
      if (auto read = dump.Module(module, 0)) {
        facts->instructions_before = static_cast<int64_t>((*read)->instructions().size());
        AddIdentity(dump, module, **read, *facts);
      } else {
        problem(read.error());
      }
    }
  }
  analysis::ProgramReader reader(dump.limits());
  for (const int32_t stage : analysis::ComparedStages(dump, module)) {
    for (std::string& note : analysis::CompareStageTexts(dump, module, stage, reader).notes)
      facts->problems.push_back(std::move(note));
  }
  if (auto kernels = dump.Kernels(module)) {
    if (!facts->compiled) facts->kernels = static_cast<int64_t>((*kernels)->kernels.size());
    for (const std::string& warning : (*kernels)->warnings) facts->problems.push_back(warning);
  } else {
    problem(kernels.error());
  }
  if (auto thunks = dump.Thunks(module); thunks && (*thunks)->file >= 0)
    facts->thunks = static_cast<int64_t>((*thunks)->thunks.size());
  auto buffers = dump.Buffers(module);
  if (buffers && (*buffers)->source != dump::BufferSource::kNone) {
    facts->memory_bytes = (*buffers)->total_bytes;
    facts->live_peak_bytes = (*buffers)->live_peak_bytes;
    if ((*buffers)->has_values()) {
      facts->argument_bytes = (*buffers)->parameter_bytes;
      facts->result_bytes = (*buffers)->live_out_bytes;
      facts->temporary_bytes = (*buffers)->temporary_bytes;
    }
    for (const std::string& warning : (*buffers)->warnings) facts->problems.push_back(warning);
  } else if (!buffers) {
    problem(buffers.error());
  }
  return facts;
}

}  // namespace hloscope::viewer
