// Reading a HloModuleProto: its computations, and what it says about the whole module.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/base/progress/activity.h"
#include "core/hlo/proto/proto_computation.h"
#include "core/hlo/proto/proto_header.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

struct ComputationSlice {
  std::string_view name, thread;
  int64_t id = 0;
  int64_t root_id = 0;
  size_t first_instruction = 0, instruction_count = 0;
  std::string unknown;
};

class ModuleReader {
 public:
  ModuleReader(const Limits& limits, std::shared_ptr<const void> owner, int64_t depth)
      : scope_{.limits = limits, .owner = std::move(owner), .depth = depth},
        header_(scope_),
        instructions_(scope_),
        computations_(scope_) {}

  Result<std::shared_ptr<const Module>> Read(std::string_view bytes) {
    HLOSCOPE_TRY(ReadFields(bytes));
    HLOSCOPE_TRY(Declare());
    scope_.builder.Reserve(instruction_bytes_.size());
    Activity activity("decoding", {}, std::ssize(instruction_bytes_));
    for (size_t k = 0; k < slices_.size(); ++k) {
      activity.Done(static_cast<int64_t>(slices_[k].first_instruction));
      HLOSCOPE_TRY(ReadComputation(k));
    }
    HLOSCOPE_TRY(CheckCalls());
    auto entry = scope_.computations.find(entry_id_);
    if (entry == scope_.computations.end()) {
      return InputError(fmt::format(
          "entry_computation_id is {}, but the module has no such computation", entry_id_));
    }
    scope_.builder.SetEntry(entry->second);
    if (!unknown_.empty()) {
      scope_.builder.AddUnknownFields(MessageKind::kModule, 0, std::move(unknown_));
    }
    return scope_.builder.Build();
  }

 private:
  Status ReadFields(std::string_view bytes) {
    using namespace ModuleField;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      switch (field.tag) {
        case AsBytes(kComputations):
          HLOSCOPE_TRY(ReadSlice(field.bytes));
          break;
        case AsVarint(kEntryComputationId):
          entry_id_ = field.AsInt64();
          break;
        case AsBytes(kEntryComputationName):
          break;  // written from the entry computation
        case AsBytes(kPayloads):
          scope_.payloads.push_back(field.bytes);
          break;
        default: {
          HLOSCOPE_ASSIGN_OR_RETURN(bool taken, header_.Take(field));
          if (!taken) unknown_.append(field.raw);
        }
      }
    }
    if (!reader.ok()) return Malformed("HloModuleProto");
    return header_.Finish();
  }

  Status ReadSlice(std::string_view bytes) {
    using namespace ComputationField;
    ComputationSlice slice;
    slice.first_instruction = instruction_bytes_.size();
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      switch (field.tag) {
        case AsBytes(kInstructions):
          instruction_bytes_.push_back(field.bytes);
          break;
        case AsBytes(kName):
          slice.name = field.bytes;
          break;
        case AsVarint(kId):
          slice.id = field.AsInt64();
          break;
        case AsVarint(kRootId):
          slice.root_id = field.AsInt64();
          break;
        case AsBytes(kExecutionThread):
          slice.thread = field.bytes;
          break;
        case AsBytes(kProgramShape):
        case AsVarint(kIsFusionComputation):
          break;  // both follow from the instructions
        default:
          slice.unknown.append(field.raw);
      }
    }
    if (!reader.ok()) return Malformed("HloComputationProto");
    slice.instruction_count = instruction_bytes_.size() - slice.first_instruction;
    slices_.push_back(std::move(slice));
    return CheckLimits();
  }

  Status CheckLimits() const {
    if (std::cmp_greater(slices_.size(), scope_.limits.computations)) {
      return InputError(
          fmt::format("more than {}", Counted(scope_.limits.computations, "computation")),
          "raise it with --limit computations=N");
    }
    if (std::cmp_greater(instruction_bytes_.size(), scope_.limits.instructions)) {
      return InputError(
          fmt::format("more than {}", Counted(scope_.limits.instructions, "instruction")),
          "raise it with --limit instructions=N");
    }
    return {};
  }

  // Gives every computation its id, in the order of the ids of the file, as XLA does.
  Status Declare() {
    std::ranges::stable_sort(slices_, {}, &ComputationSlice::id);
    std::string buffer;
    for (const ComputationSlice& slice : slices_) {
      if (slice.name.empty()) return InputError("computation has no name");
      StringId name = scope_.builder.Intern(SanitizedName(slice.name, buffer));
      ComputationId id = scope_.builder.DeclareComputation(name);
      if (!scope_.computations.emplace(slice.id, id).second) {
        return InputError(fmt::format("two computations have id {}", slice.id));
      }
      scope_.builder.SetProtoId(id, slice.id);
    }
    return {};
  }

  Status ReadComputation(size_t k) {
    ComputationSlice& slice = slices_[k];
    ComputationId id(k);
    Status status = ReadInstructions(slice, id);
    if (!status) {
      status.error().message =
          fmt::format("computation `{}`: {}", slice.name, status.error().message);
      return status;
    }
    if (!slice.unknown.empty()) {
      scope_.builder.AddUnknownFields(MessageKind::kComputation, id.index,
                                      std::move(slice.unknown));
    }
    return {};
  }

  Status ReadInstructions(const ComputationSlice& slice, ComputationId id) {
    batch_.Clear();
    for (size_t i = 0; i < slice.instruction_count; ++i) {
      Status status = instructions_.Read(instruction_bytes_[slice.first_instruction + i], batch_);
      if (!status) return InInstruction(instruction_bytes_[slice.first_instruction + i], status);
      HLOSCOPE_TRY(CheckName());
    }
    StringId thread;
    if (!slice.thread.empty() && slice.thread != "main") {
      thread = scope_.builder.Intern(slice.thread);
    }
    return computations_.Finish(batch_, slice.root_id, header_.ScheduleOf(slice.id), id, thread);
  }

  // The error with the name of the instruction put in front.
  static Status InInstruction(std::string_view bytes, Status& status) {
    std::string_view name;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(InstructionField::kName)) name = field.bytes;
    }
    status.error().message = fmt::format("instruction `{}`: {}", name, status.error().message);
    return status;
  }

  Status CheckName() {
    uint32_t name = batch_.instructions.back().name.index;
    if (name >= names_.size()) names_.resize(std::max<size_t>(name + 1, names_.size() * 2));
    if (names_[name]) {
      return InputError(
          fmt::format("two instructions are called `{}`", scope_.builder.module()[StringId(name)]));
    }
    names_[name] = true;
    return {};
  }

  // A computation that calls itself, directly or through others, is an error.
  Status CheckCalls() const;

  ReadScope scope_;
  HeaderReader header_;
  InstructionReader instructions_;
  ComputationReader computations_;
  std::vector<ComputationSlice> slices_;
  std::vector<std::string_view> instruction_bytes_;
  InstructionBatch batch_;
  std::vector<bool> names_;
  int64_t entry_id_ = 0;
  std::string unknown_;
};

Status ModuleReader::CheckCalls() const {
  const Module& module = scope_.builder.module();
  std::vector<ComputationId> order;
  ComputationId cycle = CallOrder(module, order);
  if (!cycle.valid()) return {};
  return InputError(fmt::format("computation `{}` calls itself", module[module[cycle].name]));
}

// Cheaper than Module::CalledComputations where the order of the keys does not matter.
template <typename F>
void ForEachCalled(const Module& module, const Instruction& i, F visit) {
  for (const Attribute& a : module.attributes(i)) {
    ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kComputation) visit(a.value);
    if (kind != ValueKind::kComputations) continue;
    for (uint32_t id : module.IdsOf(a)) visit(id);
  }
}

}  // namespace

ComputationId CallOrder(const Module& module, std::vector<ComputationId>& order) {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(module.computations().size(), kNew);
  std::vector<uint32_t> work;
  ComputationId cycle;
  for (uint32_t first = 0; first < state.size(); ++first) {
    work.push_back(first);
    while (!work.empty()) {
      uint32_t c = work.back();
      if (state[c] != kNew) {
        work.pop_back();
        if (state[c] == kOpen) order.push_back(ComputationId(c));
        state[c] = kDone;
        continue;
      }
      state[c] = kOpen;
      size_t begin = work.size();
      for (const Instruction& i : module.instructions(module[ComputationId(c)])) {
        ForEachCalled(module, i, [&](uint32_t called) {
          if (state[called] == kOpen) cycle = ComputationId(called);
          if (state[called] == kNew) work.push_back(called);
        });
      }
      std::reverse(work.begin() + static_cast<ptrdiff_t>(begin), work.end());
    }
  }
  return cycle;
}

Result<std::shared_ptr<const Module>> ReadModuleProto(std::string_view bytes, const Limits& limits,
                                                      std::shared_ptr<const void> owner,
                                                      int64_t depth) {
  HLOSCOPE_TRY(CheckDepth(depth, limits));
  // On the heap: the tables of fields are large, and modules may be inside modules.
  return std::make_unique<ModuleReader>(limits, std::move(owner), depth)->Read(bytes);
}

}  // namespace hloscope::hlo
