// Hashing and resolving, once per module, in time linear in its instructions and operands.
#include "core/analysis/align/alignment_side.h"

#include "core/analysis/align/fingerprint.h"
#include "core/analysis/align/origin_hashes.h"
#include "core/base/quick_hash.h"

namespace hloscope::analysis {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::ValueKind;

constexpr int kMaxSteps = 64;  // tuples, fusions and calls one looks through

// What says where something came from or how it is run, not what it computes.
bool IsDecoration(AttributeKey key) {
  switch (key) {
    case AttributeKey::kMetadata:
    case AttributeKey::kBackendConfig:
    case AttributeKey::kSharding:
    case AttributeKey::kFrontendAttributes:
    case AttributeKey::kControlPredecessors:
    case AttributeKey::kStatistics:
    case AttributeKey::kOrigin:
    case AttributeKey::kOperandPrecision:
    case AttributeKey::kChannelId:
    case AttributeKey::kIndicesAreSorted:
    case AttributeKey::kUniqueIndices:
      return true;
    default:
      return false;
  }
}

uint64_t AttributeHash(const Module& module, const Instruction& i, const Attribute& a) {
  switch (hlo::Info(a.key).kind) {
    case ValueKind::kBool:
    case ValueKind::kEnum:
    case ValueKind::kFloat:
      return a.value;
    case ValueKind::kInt:
      return static_cast<uint64_t>(module.IntOf(a));
    case ValueKind::kString:
      return hlo::HashBytes(module[hlo::StringId(a.value)]);
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
    case ValueKind::kPairs:
    case ValueKind::kPadding:
    case ValueKind::kSlices: {
      uint64_t h = 1;
      for (int64_t v : module.IntsOf(a)) h = MixKeys(h, static_cast<uint64_t>(v));
      return h;
    }
    case ValueKind::kComputation:
    case ValueKind::kComputations:
    case ValueKind::kInstructions:
    case ValueKind::kShape:
    case ValueKind::kShapes:
      return 0;
    default: {
      std::string text = AttributeKeyText(module, i, a);
      return text.empty() ? 0 : hlo::HashBytes(text);
    }
  }
}

bool IsEndOf(std::string_view end, std::string_view name) {
  if (end.size() > name.size()) std::swap(end, name);
  if (!name.ends_with(end)) return false;
  return end.size() == name.size() || name[name.size() - end.size() - 1] == '/';
}

}  // namespace

bool NamesAgree(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a) {
  std::string_view x = before.op_name(b), y = after.op_name(a);
  if (x.empty() || y.empty()) return false;
  std::string_view in_front_x = before.prefix(b), in_front_y = after.prefix(a);
  if (in_front_x.empty() && in_front_y.empty()) return IsEndOf(x, y);
  if (!IsEndOf(x, y)) return false;
  return IsEndOf(std::string(in_front_x) + std::string(x),
                 std::string(in_front_y) + std::string(y));
}

bool NamesDiffer(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a) {
  return before.origin(b) != 0 && after.origin(a) != 0 && !NamesAgree(before, b, after, a);
}

AlignmentSide::AlignmentSide(const Module& module, bool with_frames) : module_(module) {
  HashInstructions();
  FindHomes();
  std::vector<uint32_t> only(module.computations().size(), kNone);
  for (uint32_t c = 0; c < only.size(); ++c) only[c] = OnlyCaller(ComputationId(c));
  OriginHashes hashes = HashOrigins(module, only, with_frames);
  origin_ = std::move(hashes.exact);
  near_origin_ = std::move(hashes.near);
  name_origin_ = std::move(hashes.name);
  prefixes_ = std::move(hashes.prefixes);
  ResolveOperands();
  FindUsers();
}

std::string_view AlignmentSide::op_name(uint32_t id) const {
  const auto* metadata = module_.Get<hlo::OpMetadata>((*this)[id], AttributeKey::kMetadata);
  return metadata == nullptr ? std::string_view() : module_[metadata->op_name];
}

void AlignmentSide::HashInstructions() {
  std::vector<uint64_t> shapes(module_.shape_count(), 0);
  size_t count = size();
  local_.resize(count);
  kind_.resize(count);
  for (uint32_t id = 0; id < count; ++id) {
    const Instruction& i = (*this)[id];
    uint64_t& shape = shapes[i.shape.index];
    if (shape == 0) shape = module_[i.shape].WithoutLayouts().Hash() | 1;
    uint64_t h = kind_[id] = MixKeys(static_cast<uint64_t>(i.opcode), shape);
    for (const Attribute& a : module_.attributes(i)) {
      if (IsDecoration(a.key)) continue;
      uint64_t value = AttributeHash(module_, i, a);
      if (value != 0) h = MixKeys(MixKeys(h, static_cast<uint64_t>(a.key)), value);
    }
    local_[id] = h;
  }
}

void AlignmentSide::FindHomes() {
  homes_.resize(module_.computations().size());
  for (uint32_t c = 0; c < homes_.size(); ++c) {
    ComputationId home(c);
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      uint32_t caller = OnlyCaller(home);
      if (caller == kNone || !Body(caller).valid()) break;
      home = (*this)[caller].computation;
    }
    homes_[c] = home;
  }
}

ComputationId AlignmentSide::Body(uint32_t id) const {
  const Instruction& i = (*this)[id];
  if (i.opcode == Opcode::kFusion) return module_.GetComputation(i, AttributeKey::kCalls);
  if (i.opcode == Opcode::kCall) return module_.GetComputation(i, AttributeKey::kToApply);
  return {};
}

// Replaces `id` by what it is a name for; false where it computes something itself.
bool AlignmentSide::StepThrough(uint32_t& id) const {
  const Instruction& i = (*this)[id];
  if (i.opcode == Opcode::kParameter) {
    uint32_t caller = OnlyCaller(i.computation);
    if (caller == kNone || !Body(caller).valid()) return false;
    auto operands = module_.operands((*this)[caller]);
    auto number = static_cast<size_t>(module_.GetInt(i, AttributeKey::kParameterNumber, -1));
    if (number >= operands.size()) return false;
    id = operands[number].index;
    return true;
  }
  ComputationId body = Body(id);
  if (body.valid() && OnlyCaller(body) == id) {
    id = module_[body].root.index;
    return true;
  }
  if (i.opcode != Opcode::kGetTupleElement || i.operand_count != 1) return false;
  uint32_t tuple = module_.operands(i)[0].index;
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if ((*this)[tuple].opcode == Opcode::kTuple) break;
    // A tuple through get-tuple-elements of nested tuples is left as it is.
    if ((*this)[tuple].opcode == Opcode::kGetTupleElement || !StepThrough(tuple)) return false;
  }
  if ((*this)[tuple].opcode != Opcode::kTuple) return false;
  auto elements = module_.operands((*this)[tuple]);
  auto index = static_cast<size_t>(module_.GetInt(i, AttributeKey::kIndex, -1));
  if (index >= elements.size()) return false;
  id = elements[index].index;
  return true;
}

uint32_t AlignmentSide::Resolve(uint32_t id) const {
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if (!StepThrough(id)) return id;
  }
  return id;
}

void AlignmentSide::ResolveOperands() {
  std::vector<uint32_t> forms(size());
  transparent_.resize(size());
  for (uint32_t id = 0; id < size(); ++id) {
    forms[id] = Resolve(id);
    transparent_[id] = forms[id] != id;
  }
  first_.resize(size() + 1, 0);
  for (uint32_t id = 0; id < size(); ++id) {
    for (InstructionId operand : module_.operands((*this)[id])) {
      resolved_.push_back(forms[operand.index]);
    }
    first_[id + 1] = static_cast<uint32_t>(resolved_.size());
  }
}

void AlignmentSide::FindUsers() {
  first_user_.assign(size() + 1, 0);
  auto each = [&](auto visit) {
    for (uint32_t id = 0; id < size(); ++id) {
      if (IsTransparent(id)) continue;
      for (uint32_t operand : operands(id)) visit(id, operand);
    }
  };
  each([&](uint32_t, uint32_t operand) { ++first_user_[operand + 1]; });
  for (size_t k = 1; k < first_user_.size(); ++k) first_user_[k] += first_user_[k - 1];
  users_.resize(first_user_.back());
  std::vector<uint32_t> next(first_user_.begin(), first_user_.end() - 1);
  each([&](uint32_t user, uint32_t operand) { users_[next[operand]++] = user; });
}

std::vector<uint64_t> AlignmentSide::Surroundings(int radius) const {
  std::vector<uint64_t> now = local_, next(size());
  for (int round = 0; round < radius; ++round) {
    std::vector<uint64_t> from_users(size(), 0);
    for (uint32_t id = 0; id < size(); ++id) {
      uint64_t h = now[id];
      uint64_t slot = 0;
      for (uint32_t operand : operands(id)) {
        h = MixKeys(h, now[operand]);
        if (!IsTransparent(id)) from_users[operand] += MixKeys(now[id], ++slot);
      }
      next[id] = h;
    }
    for (uint32_t id = 0; id < size(); ++id) next[id] = MixKeys(next[id], from_users[id]);
    now.swap(next);
  }
  return now;
}

}  // namespace hloscope::analysis
