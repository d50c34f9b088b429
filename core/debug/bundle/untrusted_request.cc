// The allow-list for requests of untrusted files.
#include "core/debug/bundle/untrusted_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/jobs.h"
#include "core/base/machine_memory.h"
#include "core/replay/gpu_targets.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

// Which values of a flag are taken.
enum class FlagKind : uint8_t {
  kBool,       // true or false
  kNumber,     // an integer or a decimal
  kWord,       // a value of an enumeration
  kWords,      // names of passes, separated by commas
  kNotNeeded,  // none: it is left out, as results do not depend on it
};

struct FlagRow {
  std::string_view name;
  FlagKind kind;
};

constexpr FlagRow kFlagRows[] = {
#define UNTRUSTED_FLAG(name, kind) {name, FlagKind::kind},
#include "core/debug/bundle/untrusted_flags.def"
#undef UNTRUSTED_FLAG
};

constexpr std::string_view kDumpFlags = "xla_dump_";

// Nothing: the flag may not be set.
const FlagRow* FindFlag(std::string_view name) {
  constexpr static FlagRow kDumpRow = {kDumpFlags, FlagKind::kNotNeeded};
  if (name.starts_with(kDumpFlags)) return &kDumpRow;
  const auto row = std::ranges::find(kFlagRows, name, &FlagRow::name);
  return row == std::end(kFlagRows) ? nullptr : row;
}

bool IsWordCharacter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
}

bool IsNumber(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
}

// Empty: the value is one that the kind takes.
std::string_view WhyNot(FlagKind kind, std::string_view value) {
  switch (kind) {
    case FlagKind::kBool:
      return value == "true" || value == "false" || value == "0" || value == "1"
                 ? ""
                 : "its value is neither true nor false";
    case FlagKind::kNumber:
      return IsNumber(value) ? "" : "its value is not a number";
    case FlagKind::kWord:
      return !value.empty() && std::ranges::all_of(value, IsWordCharacter)
                 ? ""
                 : "its value is not a word";
    case FlagKind::kWords: {
      const auto fits = [](char c) {
        return IsWordCharacter(c) || c == '-' || c == '+' || c == ',';
      };
      return std::ranges::all_of(value, fits) ? "" : "its value is not a list of names";
    }
    case FlagKind::kNotNeeded:
      return "";
  }
  return "";
}

class Filter {
 public:
  Filter(const RunSpec& recorded, const RunSpec& own)
      : recorded_(recorded), own_(own), bound_(own) {
    if (bound_.budget.threads == 0) bound_.budget.threads = AvailableCpus();
    if (bound_.budget.memory_bytes == 0) {
      bound_.budget.memory_bytes = MachineMemoryBytes() / 100 * own.limits.run_memory_percent;
    }
    if (!bound_.budget.seconds) {
      bound_.budget.seconds = static_cast<double>(own.limits.run_deadline_seconds);
    }
  }

  UntrustedRequest Run() {
    out_.request.limits = own_.limits;
    out_.request.reference.python = own_.reference.python;
#define RUN_OPTION(member, option, name, untrusted, ...)                                      \
  Take<UntrustedField::untrusted>(name, option, recorded_.member, own_.member, bound_.member, \
                                  out_.request.member);
#include "core/debug/run/run_options.def"
    TakeFlags("xla_flags", "--{}=VALUE", recorded_.test.xla_flags, own_.test.xla_flags,
              out_.request.test.xla_flags);
    TakeFlags("reference_flags", "--reference-flag {}=VALUE", recorded_.reference.xla_flags,
              own_.reference.xla_flags, out_.request.reference.xla_flags);
    return std::move(out_);
  }

 private:
  template <UntrustedField kTaken, typename T>
  void Take(std::string_view name, std::string_view option, const T& recorded, const T& own,
            const T& bound, T& to) {
    if constexpr (kTaken == UntrustedField::kAny) {
      to = recorded;
    } else if constexpr (kTaken == UntrustedField::kOwn) {
      to = own;
    } else if constexpr (kTaken == UntrustedField::kAtMostOwn) {
      TakeAtMost(name, recorded, own, bound, to);
    } else {
      TakeName<kTaken>(name, option, recorded, own, to);
    }
  }

  template <typename T>
  void TakeAtMost(std::string_view name, const T& recorded, const T& own, const T& bound, T& to) {
    to = recorded == T() ? own : std::min(recorded, bound);
    if (recorded == T() || to == recorded) return;
    out_.notes.push_back(
        fmt::format("{}: {} here, {} recorded", name, Number(to), Number(recorded)));
  }
  static int64_t Number(int64_t value) { return value; }
  static double Number(const std::optional<double>& value) { return *value; }

  template <UntrustedField kTaken>
  void TakeName(std::string_view name, std::string_view option, const std::string& recorded,
                const std::string& own, std::string& to) {
    if (!own.empty() || recorded.empty()) {
      to = own;
      return;
    }
    const bool is_name = kTaken == UntrustedField::kPlatformName
                             ? MayNamePlatform(recorded)
                             : std::ranges::count(replay::GpuTargetNames(), recorded) != 0;
    if (is_name) {
      to = recorded;
      return;
    }
    out_.refused.push_back(
        {std::string(name),
         fmt::format("{} {} (a bundle may only name one that this hloscope has, never a file; {} "
                     "replaces it)",
                     name, recorded, option.substr(0, option.find(' ')))});
  }

  // The user's own go first; of the others those that the table allows.
  void TakeFlags(std::string_view field, std::string_view option, const Flags& recorded,
                 const Flags& own, Flags& to) {
    for (const auto& [name, value] : recorded) {
      if (std::ranges::find(own, name, &Flags::value_type::first) != own.end()) continue;
      const FlagRow* const row = FindFlag(name);
      if (row != nullptr && row->kind == FlagKind::kNotNeeded) {
        out_.notes.push_back(fmt::format("the flag {} is left out: it changes no result", name));
        continue;
      }
      const std::string_view why =
          row == nullptr ? "a bundle may not set it" : WhyNot(row->kind, value);
      if (why.empty()) {
        to.emplace_back(name, value);
        continue;
      }
      out_.refused.push_back({fmt::format("{}.{}", field, name),
                              fmt::format("the flag {} ({}; {} replaces it)", name, why,
                                          fmt::format(fmt::runtime(option), name))});
    }
    to.insert(to.end(), own.begin(), own.end());
  }

  const RunSpec& recorded_;
  const RunSpec& own_;
  RunSpec bound_;  // the most of what is limited
  UntrustedRequest out_;
};

}  // namespace

bool MayNamePlatform(std::string_view name) {
  return std::ranges::count(replay::PlatformRows(), name, &replay::PlatformRow::name) != 0;
}

UntrustedRequest RequestFromUntrusted(const RunSpec& recorded, const RunSpec& own) {
  return Filter(recorded, own).Run();
}

}  // namespace hloscope::debug
