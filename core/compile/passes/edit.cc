#include "core/compile/passes/edit.h"

#include <fmt/format.h>

#include <utility>

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;

namespace {

constexpr uint32_t kNoOrigin = 0xffffffff;

}  // namespace

Edit::Edit(std::shared_ptr<const hlo::Module> module)
    : original_(std::move(module)), rewriter_(original_) {
  const hlo::Module& m = *original_;
  pinned_.resize(m.instructions().size(), false);
  for (uint32_t i = 0; i < m.instructions().size(); ++i) {
    const Attribute* before = m.Find(InstructionId(i), AttributeKey::kControlPredecessors);
    if (before == nullptr) continue;
    pinned_[i] = true;
    for (const uint32_t id : m.IdsOf(*before)) {
      if (id < pinned_.size()) pinned_[id] = true;
    }
  }
}

const Attribute* Edit::Find(InstructionId id, AttributeKey key) const {
  for (const Attribute& a : rewriter_.attributes(id)) {
    if (a.key == key) return &a;
  }
  return nullptr;
}

std::vector<int64_t> Edit::Ints(InstructionId id, AttributeKey key) {
  const Attribute* a = Find(id, key);
  if (a == nullptr) return {};
  const auto list = values().IntsOf(*a);
  return {list.begin(), list.end()};
}

int64_t Edit::Int(InstructionId id, AttributeKey key) {
  const Attribute* a = Find(id, key);
  return a == nullptr ? 0 : values().IntOf(*a);
}

InstructionId Edit::Add(InstructionId like, std::string_view name, Opcode opcode, Shape shape,
                        std::span<const InstructionId> operands,
                        std::vector<Attribute> attributes) {
  if (const Attribute* metadata = Find(like, AttributeKey::kMetadata)) {
    attributes.push_back(*metadata);
  }
  const InstructionId made = rewriter_.Add(rewriter_.computation(like), UniqueName(name), opcode,
                                           std::move(shape), operands, attributes);
  NoteOrigin(made, like, OriginKind::kMade);
  return made;
}

void Edit::NoteOrigin(InstructionId after, InstructionId before, OriginKind kind) {
  const size_t old_count = original_->instructions().size();
  if (before.index >= old_count) {
    const size_t added = before.index - old_count;
    if (added >= first_origin_.size() || first_origin_[added] == kNoOrigin) return;
    const hlo::Origin& origin = origins_[first_origin_[added]];
    before = origin.before;
    kind = std::max(kind, origin.kind);
  }
  if (after.index >= old_count) {
    const size_t added = after.index - old_count;
    if (added >= first_origin_.size()) first_origin_.resize(added + 1, kNoOrigin);
    uint32_t& first = first_origin_[added];
    if (first == kNoOrigin) first = static_cast<uint32_t>(origins_.size());
  }
  origins_.push_back({before, after, kind});
}

InstructionId Edit::AddScalar(InstructionId like, hlo::ElementType type,
                              std::vector<std::byte> bytes) {
  const Attribute value = rewriter_.builder().Make(
      AttributeKey::kConstantValue, hlo::Literal::Dense(Shape::Scalar(type), std::move(bytes)));
  return Add(like, "constant", Opcode::kConstant, Shape::Scalar(type), {}, {value});
}

void Edit::CountNames() {
  if (!names_.empty()) return;
  names_.resize(values().strings().size() + 1, 0);
  for (const hlo::Instruction& i : original_->instructions()) ++names_[i.name.index];
}

uint32_t Edit::NameCount(std::string_view name) {
  CountNames();
  const hlo::StringId id = values().strings().Find(name);
  return id.valid() && id.index < names_.size() ? names_[id.index] : 0;
}

bool Edit::TakeName(std::string_view name) {
  const hlo::StringId id = rewriter_.builder().Intern(name);
  if (id.index >= names_.size()) names_.resize(2 * size_t{id.index}, 0);
  return names_[id.index]++ == 0;
}

hlo::ComputationId Edit::AddReducer(InstructionId user, std::string_view name, Opcode opcode,
                                    hlo::ElementType type) {
  const hlo::ComputationId made =
      rewriter_.AddComputation(UniqueName(name), rewriter_.computation(user));
  const hlo::Shape scalar = hlo::Shape::Scalar(type);
  InstructionId parameters[2];
  for (int64_t k = 0; k < 2; ++k) {
    const hlo::Attribute number =
        rewriter_.builder().MakeInt(hlo::AttributeKey::kParameterNumber, k);
    parameters[k] = rewriter_.Add(made, UniqueName(k == 0 ? "x" : "y"), Opcode::kParameter, scalar,
                                  {}, std::span(&number, 1));
    NoteOrigin(parameters[k], user, OriginKind::kMade);
  }
  const InstructionId sum = rewriter_.Add(made, UniqueName("sum"), opcode, scalar, parameters);
  NoteOrigin(sum, user, OriginKind::kMade);
  rewriter_.SetRoot(made, sum);
  return made;
}

std::string Edit::UniqueName(std::string_view name) {
  CountNames();
  std::string wanted(name);
  if (TakeName(wanted)) return wanted;
  const size_t dot = wanted.find_last_not_of("0123456789");
  if (dot != std::string::npos && dot > 0 && wanted[dot] == '.') wanted.resize(dot);
  uint32_t& number = next_number_[rewriter_.builder().Intern(wanted)];
  while (true) {
    std::string numbered = fmt::format("{}.{}", wanted, ++number);
    if (TakeName(numbered)) return numbered;
  }
}

bool Edit::MayReplace(InstructionId from, InstructionId to) const {
  if (IsPinned(from)) return false;
  for (const InstructionId user : rewriter_.users(from)) {
    if (opcode(user) == Opcode::kBitcast && !(shape(from) == shape(to))) return false;
  }
  return true;
}

void Edit::Replace(InstructionId from, InstructionId to) {
  rewriter_.ReplaceAllUses(from, to);
  NoteSameValue(from, to);
  changed_ = true;
}

// What was replaced on the way leads to the last one from then on.
InstructionId Edit::Resolve(InstructionId id) {
  InstructionId last = id;
  for (auto next = forward_.find(last); next != forward_.end(); next = forward_.find(last)) {
    last = next->second;
  }
  while (id != last) id = std::exchange(forward_.find(id)->second, last);
  return last;
}

// Of what is left: instructions that stayed, what took the place of others, and what was noted.
std::vector<hlo::Origin> Edit::Origins(const hlo::RewriteResult& rewritten) {
  std::vector<hlo::Origin> origins;
  origins.reserve(rewritten.module->instructions().size());
  const auto add = [&](InstructionId before, InstructionId after, OriginKind kind) {
    InstructionId now = rewritten.new_id[after.index];
    if (!now.valid()) {
      now = rewritten.new_id[Resolve(after).index];
      kind = std::max(kind, OriginKind::kReplaced);
    }
    if (now.valid()) origins.push_back({before, now, kind});
  };
  for (uint32_t i = 0; i < original_->instructions().size(); ++i) {
    add(InstructionId(i), InstructionId(i), OriginKind::kSame);
  }
  for (const hlo::Origin& origin : origins_) add(origin.before, origin.after, origin.kind);
  hlo::SortOrigins(origins);
  return origins;
}

Result<PassResult> Edit::Finish() {
  PassResult result;
  if (!changed_) return result;
  rewriter_.RemoveDeadCode();
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult rewritten, rewriter_.Finish());
  result.module = rewritten.module;
  result.new_id.resize(original_->instructions().size());
  for (uint32_t i = 0; i < result.new_id.size(); ++i) {
    const InstructionId id(i);
    result.new_id[i] =
        rewritten.new_id[i].valid() ? rewritten.new_id[i] : rewritten.new_id[Resolve(id).index];
  }
  result.origins = Origins(rewritten);
  return result;
}

}  // namespace hloscope::compile
