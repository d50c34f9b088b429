// What a command is: the options it declares and the function that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::app {

// Exit statuses of the program (the worst of several wins, in the order 4, 2, 3, 1, 0).
enum ExitStatus : int { kGood = 0, kDiffers = 1, kBadInput = 2, kUnsupported = 3, kDied = 4 };
int Worse(int a, int b);
int ExitStatusOf(const Error& error);

// One option or positional argument. `target` decides its kind: bool is a flag (also --name=false),
// as a Setter is without a `value`; optionals say whether they were given, lists repeat. `-` and
// `_` in a name are the same to the user; the name is spelled as help prints it: with `-`, those of
// run_hlo_module as there.
struct OptionSpec {
  // Takes the text of a value, one of `choices` if there are any; of a flag "true" or "false".
  using Setter = std::function<Status(const std::string&)>;
  using Target = std::variant<bool*, int*, int64_t*, uint64_t*, std::optional<int64_t>*,
                              std::optional<uint64_t>*, std::optional<double>*, std::string*,
                              std::optional<std::string>*, std::vector<std::string>*, Setter>;
  std::string name;  // "--json"; positionals have no dashes
  Target target;
  std::string help;
  std::string value = {};  // what the value is called in help: FILE, N, …; of a flag none
  std::vector<std::string> choices = {};      // allowed values; empty: any
  std::vector<std::string> suggestions = {};  // values that help and completions offer among others
  bool required = false;
  std::string letter = {};      // "-j": a short form
  std::string_view group = {};  // the heading in help; by default that of the option before
  bool after_dashes = false;    // a list that takes every word after `--`, and nothing else does
  bool commas = false;          // a list: A,B is two values, as its help says
  std::vector<std::string> needs = {};        // options of which one must be given with this one
  std::vector<std::string> conflicts = {};    // options that cannot be given with this one
  std::vector<std::string> actions = {};      // values of the command's action (its first argument
                                              // with choices) that read it; empty: all of them
  std::optional<int64_t> min = {}, max = {};  // of a number
  bool positive = false;                      // a number above 0
  // Takes the name where the option is given, `NAME=` where its value is empty or false; may be
  // null.
  std::vector<std::string>* given = nullptr;
  bool positional() const { return !name.starts_with('-'); }
  bool is_flag() const {
    return std::holds_alternative<bool*>(target) ||
           (std::holds_alternative<Setter>(target) && value.empty());
  }
};

// An option of this name takes every argument that begins so, without the dashes: "xla_x=true".
inline constexpr std::string_view kXlaFlags = "--xla_*";

// What every command gets.
struct Context {
  bool json = false;
  int64_t jobs = 0;  // 0: all CPUs
  Limits limits;
};

// The options that every command has: --json, --jobs, --limit, --limit-output.
struct CommonOptions {
  Context context;
  std::optional<int64_t> limit_output;
  std::vector<std::string> limits;
  std::vector<OptionSpec> Specs();
};

class Command {
 public:
  virtual ~Command() = default;
  // The options, in the order help shows them; targets are members of the command.
  virtual std::vector<OptionSpec> Options() = 0;
  // Does the work; answers the exit status.
  virtual int Run(const Context& context) = 0;
};

struct CommandRow {
  std::unique_ptr<Command> (*make)();
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // a line each; may be empty
};
std::span<const CommandRow> CommandRows();
// The row of that name, or null.
const CommandRow* CommandRowOf(std::string_view name);
// "unknown command `shwo`", with what may have been meant.
Error UnknownCommand(std::string_view name);

#define COMMAND(make, name, summary, examples) std::unique_ptr<Command> make();
#include "app/commands.def"
#undef COMMAND

}  // namespace hloscope::app
