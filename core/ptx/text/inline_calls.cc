// Copies of bodies, whose registers, variables and labels come behind those of the caller.
#include "core/ptx/text/inline_calls.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hloscope::ptx {
namespace {

class Inliner {
 public:
  Inliner(Syntax& syntax, const TextLimits& limits) : syntax_(syntax), limits_(limits) {
    for (size_t i = 0; i < syntax.functions.size(); ++i) {
      if (syntax.functions[i].has_body) functions_.emplace(syntax.functions[i].name, i);
    }
    states_.resize(syntax.functions.size(), State::kUntouched);
    for (const Entry& entry : syntax.entries) statements_ += entry.statements.size();
  }

  Status Run() {
    for (Entry& entry : syntax_.entries) HLOSCOPE_TRY(Flatten(entry));
    return {};
  }

 private:
  enum class State : uint8_t { kUntouched, kAtWork, kDone };

  static bool IsCall(const Statement& statement) { return statement.opcode == "call"; }

  // The function that a statement calls; null: it is no call, or of something without a body.
  Result<const Entry*> Callee(const Statement& call) {
    const auto found = IsCall(call) ? functions_.find(call.operands[1].name) : functions_.end();
    if (found == functions_.end()) return nullptr;
    const size_t which = found->second;
    Entry& function = syntax_.functions[which];
    if (states_[which] == State::kAtWork) {
      return Fail(call.position, "`" + std::string(function.name) + "` calls itself",
                  "kernels of XLA have no recursion");
    }
    if (states_[which] == State::kUntouched) {
      states_[which] = State::kAtWork;
      HLOSCOPE_TRY(Flatten(function));
      states_[which] = State::kDone;
    }
    if (call.operands[0].parts.size() + call.operands[2].parts.size() !=
        function.parameters.size()) {
      return Fail(
          call.position,
          "a call of `" + std::string(function.name) + "` with another number of parameters",
          "it is declared with as many as it takes");
    }
    return &function;
  }

  Status Flatten(Entry& entry) {
    if (std::ranges::none_of(entry.statements, IsCall)) return {};
    const std::vector<Statement> before = std::exchange(entry.statements, {});
    const size_t labels = entry.labels.size();
    std::vector<uint32_t> moved;  // by statement before: where it is now
    for (const Statement& statement : before) {
      moved.push_back(static_cast<uint32_t>(entry.statements.size()));
      HLOSCOPE_ASSIGN_OR_RETURN(const Entry* const function, Callee(statement));
      if (function == nullptr) {
        entry.statements.push_back(statement);
      } else {
        HLOSCOPE_TRY(Expand(entry, *function, statement));
      }
    }
    moved.push_back(static_cast<uint32_t>(entry.statements.size()));
    for (size_t i = 0; i < labels; ++i)
      entry.labels[i].statement = moved[entry.labels[i].statement];
    // Here, where callers' frames are variables, and not in functions, where they are parameters.
    for (Statement& statement : entry.statements) MakeLocal(statement);
    return {};
  }

  struct Bases {
    uint32_t registers, variables, labels;
  };

  Status Expand(Entry& entry, const Entry& function, const Statement& call) {
    statements_ += function.statements.size() + 1;
    if (statements_ > limits_.statements ||
        entry.registers.size() + function.registers.size() > limits_.registers ||
        entry.variables.size() + function.variables.size() > limits_.variables) {
      return Fail(call.position, "calls that become too many statements, registers or variables",
                  "the limit guards against malicious files");
    }
    const Bases bases{static_cast<uint32_t>(entry.registers.size()),
                      static_cast<uint32_t>(entry.variables.size()),
                      static_cast<uint32_t>(entry.labels.size())};
    const auto end_label = bases.labels + static_cast<uint32_t>(function.labels.size());
    entry.registers.insert(entry.registers.end(), function.registers.begin(),
                           function.registers.end());
    entry.variables.insert(entry.variables.end(), function.variables.begin(),
                           function.variables.end());
    if (call.guard >= 0) entry.statements.push_back(BranchTo(end_label, call, !call.guard_negated));
    const auto start = static_cast<uint32_t>(entry.statements.size());
    for (const Label& label : function.labels) {
      entry.labels.push_back({label.name, start + label.statement});
    }
    entry.labels.push_back({{}, start + static_cast<uint32_t>(function.statements.size())});
    std::vector<Operand> actual = call.operands[0].parts;
    actual.insert(actual.end(), call.operands[2].parts.begin(), call.operands[2].parts.end());
    for (const Statement& statement : function.statements) {
      Statement copy = statement.opcode == "ret"
                           ? BranchTo(end_label - bases.labels, statement, statement.guard_negated)
                           : statement;
      if (copy.guard >= 0) copy.guard += bases.registers;
      for (Operand& operand : copy.operands) Move(operand, bases, actual);
      entry.statements.push_back(std::move(copy));
    }
    return {};
  }

  static Statement BranchTo(uint32_t label, const Statement& from, bool negated) {
    Statement branch;
    branch.position = from.position;
    branch.opcode = "bra";
    branch.guard = from.guard;
    branch.guard_negated = negated;
    Operand to;
    to.kind = OperandKind::kLabel;
    to.index = label;
    to.position = from.position;
    branch.operands.push_back(std::move(to));
    return branch;
  }

  // From the numbers of a function to those of its caller.
  static void Move(Operand& operand, const Bases& bases, const std::vector<Operand>& actual) {
    for (Operand& part : operand.parts) Move(part, bases, actual);
    if (operand.kind == OperandKind::kRegister) operand.index += bases.registers;
    if (operand.kind == OperandKind::kLabel) operand.index += bases.labels;
    if (operand.kind != OperandKind::kVariable || operand.is_module) return;
    if (!operand.is_parameter()) {
      operand.index += bases.variables;
      return;
    }
    const Operand& given = actual[operand.index];
    operand.index = given.index;
    operand.bits = given.bits;
  }

  // `ld.param` and `st.param` of the memory of a call, which is no parameter of the entry.
  static void MakeLocal(Statement& statement) {
    if (statement.opcode != "ld" && statement.opcode != "st") return;
    const bool of_call = std::ranges::any_of(statement.operands, [](const Operand& operand) {
      return operand.kind == OperandKind::kAddress &&
             operand.parts[0].kind == OperandKind::kVariable && !operand.parts[0].is_module &&
             !operand.parts[0].is_parameter();
    });
    if (!of_call) return;
    for (std::string_view& modifier : statement.modifiers) {
      if (modifier.starts_with("param")) modifier = "local";
    }
  }

  std::unexpected<Error> Fail(Position position, std::string message, std::string hint) const {
    return std::unexpected(Error{ErrorClass::kInput,
                                 std::move(message),
                                 {syntax_.file, position.line, position.column},
                                 std::move(hint)});
  }

  Syntax& syntax_;
  const TextLimits& limits_;
  std::unordered_map<std::string_view, size_t> functions_;
  std::vector<State> states_;
  uint64_t statements_ = 0;
};

}  // namespace

Status InlineCalls(Syntax& syntax, const TextLimits& limits) {
  return syntax.functions.empty() ? Status() : Inliner(syntax, limits).Run();
}

}  // namespace hloscope::ptx
