// Copies of bodies, whose registers, variables and labels come behind those of the caller.
#include "core/ptx/text/inline_calls.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hloscope::ptx {
namespace {

// Calls inside calls: XLA's kernels and those of CUDA's libraries have a few.
constexpr int kMaxDepth = 256;
// What a text may become beside its own statements (120 MB), registers and variables.
constexpr uint64_t kFree = 1 << 18;
constexpr uint64_t kMaxGrowth = 8;

class Inliner {
 public:
  Inliner(Syntax& syntax, const TextLimits& limits) : syntax_(syntax), limits_(limits) {
    for (size_t i = 0; i < syntax.functions.size(); ++i) {
      if (syntax.functions[i].has_body) functions_.emplace(syntax.functions[i].name, i);
      Add(own_, OwnSize(syntax.functions[i]));
    }
    sizes_.resize(syntax.functions.size());
    for (const Entry& entry : syntax.entries) Add(own_, OwnSize(entry));
  }

  Status Run() {
    Size all;
    for (Entry& entry : syntax_.entries) {
      if (std::ranges::none_of(entry.statements, IsCall)) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Size size, SizeOf(entry, 0));
      Add(all, size);
      HLOSCOPE_TRY(Check(size, all, entry.position));
    }
    for (Entry& entry : syntax_.entries) {
      if (std::ranges::any_of(entry.statements, IsCall)) Flatten(entry);
    }
    return {};
  }

 private:
  // Of a body with those of all that it calls.
  struct Size {
    uint64_t statements = 0, registers = 0, variables = 0;
    int height = 0;  // calls inside calls
    bool is_at_work = false, is_known = false;
  };

  static bool IsCall(const Statement& statement) { return statement.opcode == "call"; }

  // Null: it is no call, or of something without a body.
  const Entry* Callee(const Statement& statement) const {
    if (!IsCall(statement)) return nullptr;
    const auto found = functions_.find(statement.operands[1].name);
    return found == functions_.end() ? nullptr : &syntax_.functions[found->second];
  }

  static Size OwnSize(const Entry& body) {
    return {body.statements.size(), body.registers.size(), body.variables.size()};
  }

  // Sums saturate at more than any limit.
  static void Add(Size& sum, const Size& size) {
    const auto add = [](uint64_t& to, uint64_t more) {
      to = std::min(to + more, uint64_t{1} << 62);
    };
    add(sum.statements, size.statements);
    add(sum.registers, size.registers);
    add(sum.variables, size.variables);
  }

  Result<Size> SizeOf(const Entry& body, int depth) {
    Size size = OwnSize(body);
    for (const Statement& statement : body.statements) {
      const Entry* const function = Callee(statement);
      if (function == nullptr) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Size of_it, SizeOfCall(statement, *function, depth + 1));
      Add(size, of_it);
      Add(size, {1});  // a branch around a call with a guard
      size.height = std::max(size.height, of_it.height + 1);
    }
    return size;
  }

  Result<Size> SizeOfCall(const Statement& call, const Entry& function, int depth) {
    Size& known = sizes_[static_cast<size_t>(&function - syntax_.functions.data())];
    if (known.is_at_work) {
      return Fail(call.position, "`" + std::string(function.name) + "` calls itself",
                  "kernels of XLA have no recursion");
    }
    if (call.operands[0].parts.size() + call.operands[2].parts.size() !=
        function.parameters.size()) {
      return Fail(
          call.position,
          "a call of `" + std::string(function.name) + "` with another number of parameters",
          "it is declared with as many as it takes");
    }
    if (depth + known.height > kMaxDepth) {
      return Fail(call.position, "calls inside " + std::to_string(kMaxDepth) + " calls",
                  "the limit guards against malicious files");
    }
    if (known.is_known) return known;
    known.is_at_work = true;
    HLOSCOPE_ASSIGN_OR_RETURN(Size size, SizeOf(function, depth));
    size.is_known = true;
    return known = size;
  }

  // `all`: of the entries up to this one.
  Status Check(const Size& size, const Size& all, Position position) const {
    const auto fits = [](uint64_t sum, uint64_t own, uint64_t limit) {
      return sum <= std::min(limit, std::max(kFree, own * kMaxGrowth));
    };
    if (size.registers <= limits_.registers && size.variables <= limits_.variables &&
        fits(all.statements, own_.statements, limits_.statements) &&
        fits(all.registers, own_.registers, limits_.module_registers) &&
        fits(all.variables, own_.variables, limits_.statements)) {
      return {};
    }
    return Fail(position, "calls that become too many statements, registers or variables",
                "the limit guards against malicious files");
  }

  void Flatten(Entry& entry) {
    const std::vector<Statement> before = std::exchange(entry.statements, {});
    const size_t labels = entry.labels.size();
    std::vector<uint32_t> moved;  // by statement before: where it is now
    for (const Statement& statement : before) {
      moved.push_back(static_cast<uint32_t>(entry.statements.size()));
      if (const Entry* const function = Callee(statement)) {
        Expand(entry, *function, statement);
      } else {
        entry.statements.push_back(statement);
      }
    }
    moved.push_back(static_cast<uint32_t>(entry.statements.size()));
    for (size_t i = 0; i < labels; ++i)
      entry.labels[i].statement = moved[entry.labels[i].statement];
    for (Statement& statement : entry.statements) MakeLocal(statement);
  }

  struct Bases {
    uint32_t registers, variables, labels;
  };

  // The body of what a statement of the entry calls, with those of what that calls. SizeOf bounds
  // how deep this goes.
  void Expand(Entry& entry, const Entry& function, const Statement& call) {
    const Bases bases{static_cast<uint32_t>(entry.registers.size()),
                      static_cast<uint32_t>(entry.variables.size()),
                      static_cast<uint32_t>(entry.labels.size())};
    const auto end_label = bases.labels + static_cast<uint32_t>(function.labels.size());
    entry.registers.insert(entry.registers.end(), function.registers.begin(),
                           function.registers.end());
    entry.variables.insert(entry.variables.end(), function.variables.begin(),
                           function.variables.end());
    entry.labels.insert(entry.labels.end(), function.labels.begin(), function.labels.end());
    entry.labels.emplace_back();
    if (call.guard >= 0) entry.statements.push_back(BranchTo(end_label, call, !call.guard_negated));
    std::vector<Operand> actual = call.operands[0].parts;
    actual.insert(actual.end(), call.operands[2].parts.begin(), call.operands[2].parts.end());
    std::vector<uint32_t> moved;  // by statement of the function: where it is now
    for (const Statement& statement : function.statements) {
      moved.push_back(static_cast<uint32_t>(entry.statements.size()));
      if (statement.opcode == "ret") {
        Statement branch = BranchTo(end_label, statement, statement.guard_negated);
        if (branch.guard >= 0) branch.guard += bases.registers;
        entry.statements.push_back(std::move(branch));
        continue;
      }
      Statement copy = statement;
      if (copy.guard >= 0) copy.guard += bases.registers;
      for (Operand& operand : copy.operands) Move(operand, bases, actual);
      if (const Entry* const inner = Callee(statement)) {
        Expand(entry, *inner, copy);
      } else {
        entry.statements.push_back(std::move(copy));
      }
    }
    moved.push_back(static_cast<uint32_t>(entry.statements.size()));
    for (size_t i = 0; i < function.labels.size(); ++i)
      entry.labels[bases.labels + i].statement = moved[function.labels[i].statement];
    entry.labels[end_label].statement = moved.back();
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
  std::vector<Size> sizes_;  // by function
  Size own_;                 // of the text
};

}  // namespace

Status InlineCalls(Syntax& syntax, const TextLimits& limits) {
  return syntax.functions.empty() ? Status() : Inliner(syntax, limits).Run();
}

}  // namespace hloscope::ptx
