// Asynchronous instructions: shapes of start, update and done against the computation they wrap,
// the pairs they form, and channels.
#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using std::to_string;

class AsyncPass {
 public:
  explicit AsyncPass(VerifyContext& context)
      : context_(context), module_(context.module()), chains_(AsyncChainsOf(module_)) {}

  void Check(InstructionId id) {
    // XLA does not look at the pairs of all-gathers.
    static constexpr OpcodeSet kInPairs = {kAllReduceStart,
                                           kAllReduceDone,
                                           kCollectivePermuteStart,
                                           kCollectivePermuteDone,
                                           kCopyStart,
                                           kCopyDone,
                                           kSend,
                                           kSendDone,
                                           kRecv,
                                           kRecvDone};
    static constexpr OpcodeSet kTransfers = {kSend, kSendDone, kRecv, kRecvDone};
    const Opcode opcode = module_[id].opcode;
    if (opcode == kAsyncStart) CheckStart(id);
    if (opcode == kAsyncUpdate) CheckUpdate(id);
    if (opcode == kAsyncStart || opcode == kAsyncUpdate) return CheckChainUsers(id);
    if (opcode == kAsyncDone) return CheckDone(id);
    if (!kInPairs.Has(opcode)) return;
    const bool is_transfer = kTransfers.Has(opcode);
    if (const auto done = DoneOf(opcode)) {
      return is_transfer ? CheckTransfer(id, *done) : CheckPair(id, {*done});
    }
    std::vector<Opcode> starts = {*StartOf(opcode)};
    if (is_transfer) starts.push_back(kGetTupleElement);
    CheckDoneOperand(id, starts);
  }

 private:
  // What the start of its chain wraps; invalid where there is none.
  ComputationId Wrapped(InstructionId id) const {
    InstructionId start = chains_.start(id);
    return start.valid() ? module_.GetComputation(module_[start], AttributeKey::kCalls)
                         : ComputationId();
  }

  void Bad(InstructionId id, std::string message, std::string_view rule = "async-shape",
           std::string hint = {}) {
    context_.Error(id, rule, context_.Name(id) + " " + std::move(message), std::move(hint));
  }

  // ((operands…), outputs, context…): the operands bound so far are the first parameters of the
  // computation, the outputs its root, or the first elements of it.
  bool CheckState(InstructionId id, ComputationId c) {
    const Shape& shape = module_.shape(id);
    if (!shape.IsTuple() || shape.elements().size() < 2 || !shape.elements()[0].IsTuple()) {
      Bad(id, "is " + context_.Text(shape) + ", expected ((operands), output, context)");
      return false;
    }
    auto bound = shape.elements()[0].elements();
    auto parameters = context_.parameters(c);
    bool fits = bound.size() <= parameters.size();
    for (size_t p = 0; fits && p < bound.size(); ++p) {
      fits = SameShape(bound[p], module_.shape(parameters[p]));
    }
    if (!fits) {
      Bad(id, "has operands " + context_.Text(shape.elements()[0]) +
                  ", expected the first parameters of " + context_.Name(c));
      return false;
    }
    for (size_t p = 0; p < bound.size(); ++p) {
      if (SameLayout(bound[p], module_.shape(parameters[p]))) continue;
      context_.Strict(id, "layout",
                      context_.Name(id) + " has operand " + to_string(p) + " as " +
                          context_.Text(bound[p], true) + ", but " + context_.Name(c) + " takes " +
                          context_.Text(module_.shape(parameters[p]), true));
    }
    return CheckOutput(id, c, shape.elements()[1]);
  }

  bool CheckOutput(InstructionId id, ComputationId c, const Shape& output) {
    const Shape& root = context_.root_shape(c);
    bool unbound = output.IsTuple() && output.elements().empty();
    bool fits = unbound || SameShape(output, root);
    if (!fits && output.IsTuple() && root.IsTuple() &&
        output.elements().size() <= root.elements().size()) {
      fits = true;
      for (size_t e = 0; fits && e < output.elements().size(); ++e) {
        fits = SameShape(output.elements()[e], root.elements()[e]);
      }
    }
    if (fits) return true;
    Bad(id, "has the output " + context_.Text(output) + ", but the root of " + context_.Name(c) +
                " is " + context_.Text(root));
    return false;
  }

  // Operands [first, …) are what `bound` says from `skip` on.
  bool CheckBoundOperands(InstructionId id, size_t first, std::span<const Shape> bound,
                          size_t skip) {
    auto operands =
        module_.operands(id).subspan(std::min<size_t>(first, module_[id].operand_count));
    if (bound.size() < skip || operands.size() != bound.size() - skip) {
      Bad(id, "binds " + Counted(operands.size(), "operand") + ", but its shape says " +
                  to_string(static_cast<int64_t>(bound.size()) - static_cast<int64_t>(skip)));
      return false;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      if (SameShape(bound[skip + o], module_.shape(operands[o]))) continue;
      Bad(id, "has operand " + context_.Name(operands[o]) + " of " + context_.Text(operands[o]) +
                  ", but its shape says " + context_.Text(bound[skip + o]));
      return false;
    }
    return true;
  }

  void CheckStart(InstructionId id) {
    const Instruction& i = module_[id];
    ComputationId c = module_.GetComputation(i, AttributeKey::kCalls);
    if (!c.valid()) return Bad(id, "calls no computation", "async-computation");
    if (context_.IsFusion(c)) {
      return Bad(id, "calls " + context_.Name(c) + ", which is a fused computation",
                 "async-computation");
    }
    if (!CheckState(id, c)) return;
    CheckBoundOperands(id, 0, module_.shape(id).elements()[0].elements(), 0);
    CheckAliasing(id, c);
  }

  bool CheckChain(InstructionId id) {
    if (!chains_.start(id).valid()) {
      Bad(id, "does not lead back to an async-start", "async-pair",
          "expected an async-start or async-update as its operand, or one passed on by a tuple, "
          "get-tuple-element, copy, opt-barrier, parameter or while");
      return false;
    }
    ComputationId c = Wrapped(id);
    if (!c.valid()) return false;  // found at the start
    const Instruction& i = module_[id];
    ComputationId given = module_.GetComputation(i, AttributeKey::kCalls);
    if (given.valid() && given != c && !SameSignature(given, c)) {
      Bad(id, "calls " + context_.Name(given) + ", but its async-start calls " + context_.Name(c),
          "async-computation");
      return false;
    }
    std::string_view thread = module_.GetString(i, AttributeKey::kAsyncExecutionThread);
    if (!thread.empty() && thread != context_.thread(c)) {
      Bad(id,
          "runs on thread " + std::string(thread.substr(0, 100)) + ", but " + context_.Name(c) +
              " runs on " + std::string(context_.thread(c).substr(0, 100)),
          "execution-thread");
    }
    return true;
  }

  // XLA compares the two computations as a whole; names apart they are copies.
  bool SameSignature(ComputationId a, ComputationId b) const {
    if (context_.parameter_count(a) != context_.parameter_count(b)) return false;
    return SameShape(context_.root_shape(a), context_.root_shape(b)) &&
           module_[module_[a].root].opcode == module_[module_[b].root].opcode;
  }

  void CheckUpdate(InstructionId id) {
    if (!CheckChain(id) || !CheckState(id, Wrapped(id))) return;
    CheckAliasing(id, Wrapped(id));
    const Shape& before = module_.shape(module_.operands(id)[0]);
    if (!before.IsTuple() || before.elements().size() < 2) return;  // found there
    const Shape& after = module_.shape(id);
    if (!CheckBoundOperands(id, 1, after.elements()[0].elements(),
                            before.elements()[0].elements().size())) {
      return;
    }
    const Shape& had = before.elements()[1];
    const Shape& has = after.elements()[1];
    bool shrinks = had.IsTuple() && has.IsTuple() && has.elements().size() < had.elements().size();
    if (shrinks) Bad(id, "has fewer outputs than its operand");
  }

  void CheckDone(InstructionId id) {
    if (!CheckChain(id)) return;
    ComputationId c = Wrapped(id);
    const Shape& before = module_.shape(module_.operands(id)[0]);
    if (!before.IsTuple() || before.elements().size() < 2) return;
    size_t bound = before.elements()[0].elements().size();
    if (bound != context_.parameter_count(c)) {
      Bad(id, "ends " + context_.Name(module_.operands(id)[0]) + ", which has only bound " +
                  to_string(bound) + " of " + Counted(context_.parameter_count(c), "operand"));
      return;
    }
    const Shape& root = context_.root_shape(c);
    if (!SameShape(module_.shape(id), root)) {
      Bad(id, "is " + context_.Text(id) + ", but the root of " + context_.Name(c) + " is " +
                  context_.Text(root));
    } else if (!SameLayout(module_.shape(id), root)) {
      context_.Strict(id, "layout",
                      context_.Name(id) + " is " + context_.Text(module_.shape(id), true) +
                          ", but the root of " + context_.Name(c) + " is " +
                          context_.Text(root, true));
    }
  }

  // The part an aliasing names of ((parameters…), root, context…), the state once all is bound.
  const Shape* StatePart(InstructionId id, ComputationId c, std::span<const int64_t> index) const {
    if (index[0] == 0) {
      if (index.size() == 1) return module_.shape(id).elements().data();
      auto p = static_cast<size_t>(index[1]);
      if (index[1] < 0 || p >= context_.parameter_count(c)) return nullptr;
      return Subshape(context_.parameter_shape(c, p), index.subspan(2));
    }
    if (index[0] == 1) return Subshape(context_.root_shape(c), index.subspan(1));
    return Subshape(module_.shape(id), index);
  }

  void CheckAliasing(InstructionId id, ComputationId c) {
    const auto* aliasing =
        module_.Get<OutputOperandAliasing>(module_[id], AttributeKey::kOutputToOperandAliasing);
    if (aliasing == nullptr) return;
    for (const OutputOperandAlias& alias : aliasing->entries) CheckAlias(id, c, alias);
  }

  void CheckAlias(InstructionId id, ComputationId c, const OutputOperandAlias& alias) {
    std::string what = "output_to_operand_aliasing " + IndexText(alias.output_index) + ": (" +
                       to_string(alias.operand) + ", " + IndexText(alias.operand_index) + ")";
    size_t count = context_.parameter_count(c);
    if (alias.operand < 0 || static_cast<size_t>(alias.operand) >= count) {
      return Bad(id, "has " + what + ", but only " + Counted(count, "operand"), "alias");
    }
    if (alias.output_index.empty())
      return Bad(id, "has " + what + " for its whole result, expected a part of it", "alias");
    const Shape* output = StatePart(id, c, alias.output_index);
    const Shape* input = Subshape(context_.parameter_shape(c, static_cast<size_t>(alias.operand)),
                                  alias.operand_index);
    if (output == nullptr || input == nullptr) {
      return Bad(id, "has " + what + ", but there is no such part", "alias");
    }
    if (!SameShape(*output, *input)) {
      return Bad(id,
                 "has " + what + ", which puts " + context_.Text(*output) + " into the buffer of " +
                     context_.Text(*input),
                 "alias");
    }
    if (SameLayout(*output, *input)) return;
    context_.Strict(id, "layout",
                    context_.Name(id) + " has " + what + ", which puts " +
                        context_.Text(*output, true) + " into the buffer of " +
                        context_.Text(*input, true));
  }

  // A start is ended once. One that is a root, or goes into a loop, is ended elsewhere.
  void CheckChainUsers(InstructionId id) {
    size_t ends = 0, elsewhere = 0;
    for (InstructionId user : context_.UsersOf(id)) {
      Opcode opcode = module_[user].opcode;
      if (opcode == kAsyncUpdate || opcode == kAsyncDone) {
        ++ends;
      } else if (CarriesAsyncState(module_, module_[user])) {
        ++elsewhere;
      } else {
        return Bad(id,
                   "is used by " + context_.Name(user) + ", a " + std::string(ToString(opcode)) +
                       ", expected async-update or async-done",
                   "async-pair");
      }
    }
    if (ends > 1) {
      return Bad(id,
                 "is used by " + to_string(ends) +
                     " async-update or async-done instructions, expected one",
                 "async-pair");
    }
    bool carried = context_.IsRoot(id) && module_[id].computation != module_.entry_id();
    if (ends == 0 && elsewhere == 0 && !carried) {
      Bad(id, "has no matching async-done", "async-pair");
    }
  }

  static std::string Listed(const std::vector<Opcode>& opcodes) {
    std::string text;
    for (Opcode o : opcodes) text += (text.empty() ? "" : " or ") + std::string(ToString(o));
    return text;
  }

  void CheckPair(InstructionId id, const std::vector<Opcode>& wanted) {
    auto users = context_.UsersOf(id);
    if (users.size() != 1) {
      return Bad(id, "has " + Counted(users.size(), "user") + ", expected one " + Listed(wanted),
                 "async-pair");
    }
    Opcode opcode = module_[users[0]].opcode;
    if (std::find(wanted.begin(), wanted.end(), opcode) != wanted.end()) return;
    Bad(id,
        "is used by " + context_.Name(users[0]) + ", a " + std::string(ToString(opcode)) +
            ", expected " + Listed(wanted),
        "async-pair");
  }

  void CheckDoneOperand(InstructionId id, const std::vector<Opcode>& wanted) {
    auto operands = module_.operands(id);
    if (operands.size() != 1) return;  // operand-count
    Opcode opcode = module_[operands[0]].opcode;
    if (std::find(wanted.begin(), wanted.end(), opcode) != wanted.end()) return;
    Bad(id,
        "has the operand " + context_.Name(operands[0]) + ", a " + std::string(ToString(opcode)) +
            ", expected " + Listed(wanted),
        "async-pair");
  }

  void CheckTransfer(InstructionId id, Opcode done) {
    const Instruction& i = module_[id];
    if (module_.GetBool(i, AttributeKey::kIsHostTransfer)) CheckHostChannel(id);
    if (context_.IsRoot(id) && context_.IsAsync(i.computation)) return;
    size_t before = context_.error_count();
    CheckPair(id, {done, kTuple});
    if (context_.error_count() != before) return;
    InstructionId user = context_.UsersOf(id)[0];
    if (module_[user].opcode != done || module_.Find(i, AttributeKey::kChannelId) == nullptr) {
      return;
    }
    const Instruction& end = module_[user];
    bool has = module_.Find(end, AttributeKey::kChannelId) != nullptr;
    int64_t from = module_.GetInt(i, AttributeKey::kChannelId);
    int64_t to = module_.GetInt(end, AttributeKey::kChannelId);
    if (!has || from != to) {
      Bad(user,
          "ends " + context_.Name(id) + " of channel_id " + to_string(from) + ", but has " +
              (has ? "channel_id " + to_string(to) : std::string("none")),
          "channel-id");
    }
    if (module_.GetBool(i, AttributeKey::kIsHostTransfer) !=
        module_.GetBool(end, AttributeKey::kIsHostTransfer)) {
      Bad(user, "and " + context_.Name(id) + " must agree on is_host_transfer", "channel-id");
    }
  }

  template <typename T>
  bool SameValue(const Instruction& a, const Instruction& b, AttributeKey key) const {
    const T *x = module_.Get<T>(a, key), *y = module_.Get<T>(b, key);
    return (x == nullptr ? T() : *x) == (y == nullptr ? T() : *y);
  }

  // Host transfers that share a channel are copies of each other, but for their operands.
  void CheckHostChannel(InstructionId id) {
    const Instruction& i = module_[id];
    const Attribute* channel = module_.Find(i, AttributeKey::kChannelId);
    if (channel == nullptr) return;
    auto [entry, added] = host_channels_.emplace(module_.IntOf(*channel), id);
    if (added) return;
    const Instruction& other = module_[entry->second];
    bool same = other.opcode == i.opcode && other.operand_count == i.operand_count &&
                context_.Same(other.shape, i.shape);
    for (size_t o = 0; same && o < i.operand_count; ++o) {
      same = context_.Same(module_[module_.operands(i)[o]].shape,
                           module_[module_.operands(other)[o]].shape);
    }
    same = same && SameValue<FrontendAttributes>(other, i, AttributeKey::kFrontendAttributes) &&
           SameValue<BackendConfig>(other, i, AttributeKey::kBackendConfig);
    if (same) return;
    Bad(id,
        "and " + context_.Name(entry->second) + " use channel_id " + to_string(entry->first) +
            " for different host transfers",
        "channel-id", "give each host transfer its own channel_id");
  }

  VerifyContext& context_;
  const Module& module_;
  const AsyncChains& chains_;
  std::map<int64_t, InstructionId> host_channels_;
};

// An asynchronous computation is one instruction and its parameters, unless it is marked as a
// group.
void CheckAsyncBody(VerifyContext& context, ComputationId c) {
  const Module& module = context.module();
  const Computation& computation = module[c];
  bool one = true, barrier = true;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    InstructionId id(computation.first_instruction + k);
    Opcode opcode = module[id].opcode;
    if (id == computation.root || opcode == kParameter) continue;
    one = false;
    barrier &= opcode == kGetTupleElement;
  }
  if (one || barrier) return;
  auto callers = context.callers(c);
  size_t starts = 0;
  bool grouped = false;
  for (InstructionId caller : callers) {
    if (module[caller].opcode != kAsyncStart) continue;
    ++starts;
    grouped |= FrontendAttributeOf(module, module[caller], "_collectives_group").has_value();
  }
  if (grouped && starts == 1) return;
  context.Strict(
      computation.root, "async-computation",
      "the asynchronous computation " + context.Name(c) +
          " has more instructions than its root and parameters",
      "keep one instruction, or set the frontend attribute _collectives_group on the async-start");
}

}  // namespace

void VerifyAsync(VerifyContext& context) {
  if (context.asynchronous().empty()) return;
  AsyncPass pass(context);
  for (InstructionId id : context.asynchronous()) {
    if (context.full()) return;
    pass.Check(id);
  }
  for (size_t c = 0; c < context.module().computations().size() && !context.full(); ++c) {
    if (context.IsAsync(ComputationId(c))) CheckAsyncBody(context, ComputationId(c));
  }
}

}  // namespace hloscope::hlo
