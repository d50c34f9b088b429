// Modules: directives, variables, entries.
#include "core/ptx/text/parser.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "core/base/counted.h"
#include "core/ptx/text/body_parser.h"
#include "core/ptx/text/inline_calls.h"
#include "core/ptx/text/variables.h"

namespace hloscope::ptx {
namespace {

// What ptxas takes: more from PTX 8.1 on.
constexpr uint32_t kVersionOfLargeParameters = 81;
constexpr uint64_t kParameterBytes = 4352, kLargeParameterBytes = 32764;

class ModuleParser {
 public:
  ModuleParser(Syntax& syntax, const TextLimits& limits)
      : syntax_(syntax), limits_(limits), tokens_(*syntax.text, syntax.file) {}

  Status Parse() {
    while (tokens_.token().kind != TokenKind::kEnd) HLOSCOPE_TRY(ParseDirective());
    return {};
  }

 private:
  Status ParseDirective() {
    HLOSCOPE_ASSIGN_OR_RETURN(const Token directive,
                              tokens_.ExpectKind(TokenKind::kDirective, "a directive"));
    const std::string_view text = directive.text;
    if (text == ".version") return ParseVersion();
    if (text == ".target") return ParseTarget();
    if (text == ".address_size") return ParseAddressSize();
    if (text == ".file" || text == ".loc") return SkipLine(directive.position);
    if (text == ".section") return SkipSection();
    if (text == ".visible" || text == ".weak" || text == ".common") return {};
    if (text == ".extern") {
      is_extern_ = true;
      return {};
    }
    if (text == ".pragma") return SkipTo(';');
    if (text == ".entry") return ParseEntry();
    if (text == ".func") return ParseFunction();
    if (const auto space = SpaceOf(text); space.has_value() && *space != Space::kParam) {
      return AddVariable(*space);
    }
    return tokens_.Fail(directive.position,
                        "`" + std::string(text) + "` at the level of the module",
                        "expected .version, .target, .entry, .func or a variable");
  }

  Status ParseVersion() {
    HLOSCOPE_ASSIGN_OR_RETURN(Token number,
                              tokens_.ExpectKind(TokenKind::kFloat64, "a version such as 8.7"));
    uint32_t version = 0;
    for (const char c : number.text.substr(0, 4)) {
      if (c >= '0' && c <= '9') version = version * 10 + static_cast<uint32_t>(c - '0');
    }
    syntax_.version = version;
    return {};
  }

  Status ParseTarget() {
    HLOSCOPE_ASSIGN_OR_RETURN(const Token name,
                              tokens_.ExpectKind(TokenKind::kName, "a target such as sm_90a"));
    syntax_.target = name.text;
    while (tokens_.TakeIf(',')) {
      HLOSCOPE_TRY(tokens_.ExpectKind(TokenKind::kName, "a word after `,`"));
    }
    return {};
  }

  Status ParseAddressSize() {
    HLOSCOPE_ASSIGN_OR_RETURN(const Token size,
                              tokens_.ExpectKind(TokenKind::kInteger, "an address size"));
    if (size.value == 64) return {};
    return tokens_.Fail(size.position, "an address size other than 64", "compile for 64 bits");
  }

  Status SkipLine(Position position) {
    while (tokens_.token().kind != TokenKind::kEnd &&
           tokens_.token().position.line == position.line) {
      tokens_.Take();
    }
    return {};
  }

  Status SkipTo(char sign) {
    while (!tokens_.TakeIf(sign)) {
      if (tokens_.Take().kind == TokenKind::kEnd) {
        return tokens_.Fail(tokens_.token().position,
                            std::string("the text ends, expected '") + sign + "'",
                            "the file may be cut off");
      }
    }
    return {};
  }

  Status SkipSection() {
    HLOSCOPE_TRY(SkipTo('{'));
    return SkipTo('}');
  }

  Status AddVariable(Space space) {
    HLOSCOPE_ASSIGN_OR_RETURN(Variable variable, ParseVariable(tokens_, space, limits_, bytes_));
    HLOSCOPE_TRY(tokens_.Expect(';', "after a variable"));
    variable.is_extern = std::exchange(is_extern_, false);
    if (syntax_.variables.size() >= limits_.variables) {
      return tokens_.Fail(variable.position, "too many variables",
                          "the limit guards against malicious files");
    }
    const auto index = static_cast<uint32_t>(syntax_.variables.size());
    if (!names_.emplace(variable.name, index).second) {
      return tokens_.Fail(variable.position,
                          "`" + std::string(variable.name) + "` is declared twice",
                          "rename one of them");
    }
    syntax_.variables.push_back(std::move(variable));
    return {};
  }

  Status ParseEntry() {
    HLOSCOPE_ASSIGN_OR_RETURN(const Token name,
                              tokens_.ExpectKind(TokenKind::kName, "the name of an entry"));
    if (syntax_.entries.size() >= limits_.entries) {
      return tokens_.Fail(name.position, "too many entries",
                          "the limit guards against malicious files");
    }
    if (!entry_names_.insert(name.text).second) {
      return tokens_.Fail(name.position, "entry `" + std::string(name.text) + "` is declared twice",
                          "rename one of them");
    }
    Entry entry;
    entry.name = name.text;
    entry.position = name.position;
    if (tokens_.TakeIf('(')) HLOSCOPE_TRY(ParseParameters(entry));
    HLOSCOPE_TRY(CheckParameterSpace(entry));
    while (tokens_.token().kind == TokenKind::kDirective) HLOSCOPE_TRY(ParseTuning(entry));
    HLOSCOPE_TRY(tokens_.Expect('{', "before the body of an entry"));
    BodyParser body(tokens_, syntax_, names_, entry, limits_, statements_, bytes_);
    HLOSCOPE_TRY(body.Parse());
    HLOSCOPE_TRY(CountRegisters(entry));
    syntax_.entries.push_back(std::move(entry));
    return {};
  }

  Status CountRegisters(const Entry& entry) {
    registers_ += entry.registers.size();
    if (registers_ <= limits_.module_registers) return {};
    return tokens_.Fail(
        entry.position,
        "more than " + Counted(limits_.module_registers, "register") + " in a module",
        "the limit guards against malicious files");
  }

  Status CheckParameterSpace(const Entry& entry) {
    uint64_t bytes = 0;
    for (const Variable& variable : entry.parameters) {
      bytes = (bytes + variable.align - 1) / variable.align * variable.align + variable.bytes;
    }
    const bool is_large = syntax_.version == 0 || syntax_.version >= kVersionOfLargeParameters;
    const uint64_t most = is_large ? kLargeParameterBytes : kParameterBytes;
    if (bytes <= most) return {};
    return tokens_.Fail(
        entry.position,
        fmt::format("entry `{}` has {} bytes of parameters, {} are the most", entry.name, bytes,
                    most),
        bytes <= kLargeParameterBytes ? "`.version 8.1` or newer allows 32764" : "");
  }

  // A function is declared before it is used, and may be again with its body.
  Status ParseFunction() {
    is_extern_ = false;
    Entry function;
    if (tokens_.TakeIf('(')) HLOSCOPE_TRY(ParseParameters(function));
    HLOSCOPE_ASSIGN_OR_RETURN(const Token name,
                              tokens_.ExpectKind(TokenKind::kName, "the name of a function"));
    if (syntax_.functions.size() >= limits_.entries) {
      return tokens_.Fail(name.position, "too many functions",
                          "the limit guards against malicious files");
    }
    function.name = name.text;
    function.position = name.position;
    if (tokens_.TakeIf('(')) HLOSCOPE_TRY(ParseParameters(function));
    while (tokens_.token().kind == TokenKind::kDirective) HLOSCOPE_TRY(ParseTuning(function));
    function.has_body = !tokens_.TakeIf(';');
    if (function.has_body) {
      if (!functions_.insert(name.text).second) {
        return tokens_.Fail(name.position,
                            "function `" + std::string(name.text) + "` has two bodies",
                            "rename one of them");
      }
      HLOSCOPE_TRY(tokens_.Expect('{', "before the body of a function"));
      BodyParser body(tokens_, syntax_, names_, function, limits_, statements_, bytes_);
      HLOSCOPE_TRY(body.Parse());
      HLOSCOPE_TRY(CountRegisters(function));
    }
    syntax_.functions.push_back(std::move(function));
    return {};
  }

  Status ParseParameters(Entry& entry) {
    if (tokens_.TakeIf(')')) return {};
    do {
      const Position position = tokens_.token().position;
      if (!tokens_.TakeDirective(".param")) {
        return tokens_.Fail(position, tokens_.Found() + ", expected .param",
                            "parameters of entries are .param");
      }
      HLOSCOPE_ASSIGN_OR_RETURN(Variable variable,
                                ParseVariable(tokens_, Space::kParam, limits_, bytes_));
      entry.parameters.push_back(std::move(variable));
      if (entry.parameters.size() > limits_.parameters) {
        return tokens_.Fail(position, "too many parameters",
                            "the limit guards against malicious files");
      }
    } while (tokens_.TakeIf(','));
    return tokens_.Expect(')', "after the parameters");
  }

  // .reqntid and the hints for ptxas, which change nothing that a run gives.
  Status ParseTuning(Entry& entry) {
    const Token directive = tokens_.Take();
    const std::string_view text = directive.text;
    const bool known = text == ".reqntid" || text == ".maxntid" || text == ".minnctapersm" ||
                       text == ".maxnreg" || text == ".maxnctapersm" ||
                       text == ".explicitcluster" || text == ".reqnctapercluster" ||
                       text == ".maxclusterrank" || text == ".noreturn";
    if (!known) {
      return tokens_.Fail(directive.position,
                          "`" + std::string(text) + "` before the body of an entry",
                          "expected .reqntid, .maxntid, .maxnreg or another hint");
    }
    uint32_t count = 0;
    while (tokens_.token().kind == TokenKind::kInteger && count < 3) {
      const Token number = tokens_.Take();
      if (text == ".reqntid") {
        if (number.value == 0 || number.value > 1024) {
          return tokens_.Fail(number.position, "threads of a block outside 1 … 1024",
                              "no GPU runs it");
        }
        entry.required_threads[count] = static_cast<uint32_t>(number.value);
      }
      if (text == ".reqnctapercluster") {
        if (number.value == 0 || number.value > 16) {
          return tokens_.Fail(number.position, "blocks of a cluster outside 1 … 16",
                              "no GPU runs it");
        }
        entry.required_cluster[count] = static_cast<uint32_t>(number.value);
      }
      ++count;
      if (!tokens_.TakeIf(',')) break;
    }
    if (text == ".reqnctapercluster") {
      for (uint32_t& blocks : entry.required_cluster) blocks = std::max(blocks, 1u);
    }
    if (text == ".reqntid") {
      for (uint32_t& threads : entry.required_threads) threads = std::max(threads, 1u);
    }
    return {};
  }

  Syntax& syntax_;
  const TextLimits& limits_;
  TokenStream tokens_;
  std::unordered_map<std::string_view, uint32_t> names_;
  std::unordered_set<std::string_view> entry_names_, functions_;  // functions: with a body
  uint32_t statements_ = 0;
  uint64_t registers_ = 0, bytes_ = 0;
  bool is_extern_ = false;
};

}  // namespace

std::string Statement::Form() const {
  std::string form(opcode);
  for (const std::string_view modifier : modifiers) {
    form += '.';
    form += modifier;
  }
  return form;
}

Result<Syntax> ParseText(std::string text, std::string file, const TextLimits& limits) {
  if (text.size() > limits.text_bytes) {
    return std::unexpected(Error{ErrorClass::kInput,
                                 "PTX of more than " + std::to_string(limits.text_bytes) + " bytes",
                                 {std::move(file)},
                                 "the limit guards against malicious files"});
  }
  Syntax syntax;
  syntax.file = std::move(file);
  syntax.text = std::make_shared<const std::string>(std::move(text));
  HLOSCOPE_TRY(ModuleParser(syntax, limits).Parse());
  HLOSCOPE_TRY(InlineCalls(syntax, limits));
  return syntax;
}

}  // namespace hloscope::ptx
