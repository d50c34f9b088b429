// A recursive descent over one expression, of bounded depth.
#include "core/dump/readers/symbolic_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/checked.h"

namespace hloscope::dump {
namespace {

// Names are those of Python, whose letters may be of any alphabet.
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t NameLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size() &&
         (IsNameStart(text[length]) || (length > 0 && IsDigit(text[length])))) {
    ++length;
  }
  return length;
}

// Whether a dimension is one variable and nothing else.
bool IsVariable(std::string_view text) { return !text.empty() && NameLength(text) == text.size(); }

bool IsFixed(std::string_view text) { return std::ranges::all_of(text, IsDigit); }

class Evaluator {
 public:
  Evaluator(std::string_view text, std::span<const DimensionVariable> variables)
      : all_(text), rest_(text), variables_(variables) {}

  Result<int64_t> Run() {
    HLOSCOPE_ASSIGN_OR_RETURN(const int64_t value, Sum(0));
    if (!rest_.empty()) return Wrong();
    return value;
  }

 private:
  static constexpr int kMaxDepth = 64;

  std::unexpected<Error> Wrong() const {
    return InputError(fmt::format("\"{}\" is not an expression of dimension variables", all_));
  }
  std::unexpected<Error> TooLarge() const {
    return InputError(fmt::format("the dimension {} overflows 64 bits", all_));
  }

  bool Take(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    SkipSpace();
    return true;
  }
  void SkipSpace() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  Result<int64_t> Sum(int depth) {
    if (depth > kMaxDepth) return Wrong();
    int64_t sum = 0;
    bool negative = Take('-');
    if (!negative) Take('+');
    for (;;) {
      HLOSCOPE_ASSIGN_OR_RETURN(const int64_t term, Product(depth));
      const auto next = negative ? CheckedSub(sum, term) : CheckedAdd(sum, term);
      if (!next) return TooLarge();
      sum = *next;
      negative = Take('-');
      if (!negative && !Take('+')) return sum;
    }
  }

  Result<int64_t> Product(int depth) {
    int64_t product = 1;
    do {
      HLOSCOPE_ASSIGN_OR_RETURN(const int64_t factor, Power(depth));
      const auto next = CheckedMul(product, factor);
      if (!next) return TooLarge();
      product = *next;
    } while (Take('*'));
    return product;
  }

  Result<int64_t> Power(int depth) {
    HLOSCOPE_ASSIGN_OR_RETURN(const int64_t base, Factor(depth));
    if (!Take('^')) return base;
    HLOSCOPE_ASSIGN_OR_RETURN(const int64_t exponent, Number());
    if (exponent == 0) return 1;
    if (base == 0 || base == 1) return base;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    int64_t power = 1;
    for (int64_t k = 0; k < exponent; ++k) {
      const auto next = CheckedMul(power, base);
      if (!next) return TooLarge();
      power = *next;
    }
    return power;
  }

  Result<int64_t> Factor(int depth) {
    if (rest_.starts_with('-')) {
      rest_.remove_prefix(1);
      HLOSCOPE_ASSIGN_OR_RETURN(const int64_t number, Number());
      return -number;
    }
    if (!rest_.empty() && IsDigit(rest_.front())) return Number();
    const std::string_view name = rest_.substr(0, NameLength(rest_));
    if (name.empty()) return Wrong();
    rest_.remove_prefix(name.size());
    if (Take('(')) return Operation(name, depth);
    const auto found = std::ranges::find(variables_, name, &DimensionVariable::name);
    if (found == variables_.end()) {
      return InputError(fmt::format("the dimension variable {} has no value", name));
    }
    return found->value;
  }

  Result<int64_t> Number() {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc::result_out_of_range) return TooLarge();
    if (error != std::errc() || number < 0) return Wrong();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return number;
  }

  Result<int64_t> Operation(std::string_view name, int depth) {
    HLOSCOPE_ASSIGN_OR_RETURN(const int64_t a, Sum(depth + 1));
    if (name == "non_negative") {
      if (!Take(')')) return Wrong();
      return std::max<int64_t>(a, 0);
    }
    if (!Take(',')) return Wrong();
    HLOSCOPE_ASSIGN_OR_RETURN(const int64_t b, Sum(depth + 1));
    if (!Take(')')) return Wrong();
    if (name == "max") return std::max(a, b);
    if (name == "min") return std::min(a, b);
    if (name != "floordiv" && name != "mod") return Wrong();
    if (b == 0) return InputError(fmt::format("the dimension {} divides by zero", all_));
    if (b == -1) {
      if (name == "mod") return 0;
      const auto negated = CheckedSub(int64_t{0}, a);
      return negated ? Result<int64_t>(*negated) : TooLarge();
    }
    // As Python: the remainder has the sign of the divisor.
    const bool down = a % b != 0 && (a < 0) != (b < 0);
    if (name == "floordiv") return a / b - (down ? 1 : 0);
    return a % b + (down ? b : 0);
  }

  std::string_view all_, rest_;
  std::span<const DimensionVariable> variables_;
};

// Variables that are dimensions of arrays that are there have those values, unless they are named.
void TakeFrom(const ExportedArray& array, const Dimensions& dimensions,
              std::vector<DimensionVariable>& variables) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const std::string_view name = array.dimensions[d];
    if (!IsVariable(name) ||
        std::ranges::find(variables, name, &DimensionVariable::name) != variables.end()) {
      continue;
    }
    variables.push_back({std::string(name), dimensions[d]});
  }
}

std::unexpected<Error> WithoutValue(const std::string& argument, const ExportedArray& array,
                                    Error error) {
  error.message = fmt::format("{} is {}: {}", argument, ToString(array), error.message);
  error.hint = "give its value, --shape NAME=N, or an array of that shape, --inputs FILE";
  return std::unexpected(std::move(error));
}

}  // namespace

Result<int64_t> EvaluateDimension(std::string_view text,
                                  std::span<const DimensionVariable> variables) {
  return Evaluator(text, variables).Run();
}

std::vector<std::string> DimensionVariablesOf(const JaxExport& exported) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const uint32_t index : exported.arguments) {
    for (std::string_view text : exported.arrays[index].dimensions) {
      while (!text.empty()) {
        const size_t length = NameLength(text);
        const bool is_name = length > 0 && !text.substr(length).starts_with('(');
        if (is_name && seen.insert(text.substr(0, length)).second) {
          names.emplace_back(text.substr(0, length));
        }
        text.remove_prefix(std::max<size_t>(length, 1));
      }
    }
  }
  return names;
}

Result<std::vector<Dimensions>> ResolveShapes(const JaxExport& exported,
                                              std::vector<DimensionVariable> variables,
                                              std::span<const std::optional<Dimensions>> known) {
  const std::vector<std::string> names = DimensionVariablesOf(exported);
  for (const DimensionVariable& variable : variables) {
    if (std::ranges::find(names, variable.name) != names.end()) continue;
    return InputError(fmt::format("--shape {}={}: there is no such dimension variable",
                                  variable.name, variable.value),
                      names.empty() ? "all its shapes are fixed"
                                    : fmt::format("it has {}", fmt::join(names, ", ")));
  }
  const auto array_of = [&](size_t k) -> const ExportedArray& {
    return exported.arrays[exported.arguments[k]];
  };
  const auto given_for = [&](size_t k) -> const Dimensions* {
    return k < known.size() && known[k] ? &*known[k] : nullptr;
  };
  for (size_t k = 0; k < exported.arguments.size(); ++k) {
    const Dimensions* const given = given_for(k);
    if (given == nullptr) continue;
    if (given->size() != array_of(k).dimensions.size()) {
      return InputError(fmt::format("in{}: the array is [{}], expected {}", k,
                                    fmt::join(*given, ","), ToString(array_of(k))));
    }
    TakeFrom(array_of(k), *given, variables);
  }
  std::vector<Dimensions> shapes;
  for (size_t k = 0; k < exported.arguments.size(); ++k) {
    const ExportedArray& array = array_of(k);
    const Dimensions* const given = given_for(k);
    Dimensions& shape = shapes.emplace_back();
    for (size_t d = 0; d < array.dimensions.size(); ++d) {
      const auto value = EvaluateDimension(array.dimensions[d], variables);
      if (!value && given == nullptr) {
        return WithoutValue(fmt::format("in{}", k), array, value.error());
      }
      if (value && given != nullptr && *value != (*given)[d]) {
        const std::string_view text = array.dimensions[d];
        return InputError(fmt::format(
            "in{}: the array is [{}], expected {}{}", k, fmt::join(*given, ","), ToString(array),
            IsFixed(text) ? "" : fmt::format(" with {} = {}", text, *value)));
      }
      shape.push_back(given != nullptr ? (*given)[d] : *value);
      if (shape.back() < 0) {
        return InputError(fmt::format("in{} is {}: the dimension {} is {}, expected 0 or more", k,
                                      ToString(array), array.dimensions[d], shape.back()));
      }
    }
  }
  return shapes;
}

}  // namespace hloscope::dump
