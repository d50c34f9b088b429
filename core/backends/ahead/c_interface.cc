#include "core/backends/ahead/c_interface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/base/strings.h"
#include "core/compile/plan/plan_arrays.h"
#include "core/hlo/element_type.h"

namespace hloscope::replay {

using compile::ObjectCode;
using compile::Plan;
using compile::PlanArray;
using hlo::ElementKind;
using hlo::ElementType;

namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct CType {
  std::string name, note;
};

CType CTypeOf(ElementType type) {
  const hlo::ElementTypeInfo& info = hlo::Info(type);
  const int bytes = info.storage_bytes;
  switch (info.kind) {
    case ElementKind::kPred:
      return {"uint8_t", "0 or 1"};
    case ElementKind::kComplex:
      return {bytes == 8 ? "float" : "double", "two numbers for each element, the real part first"};
    case ElementKind::kFloat:
      if (type == ElementType::kF32) return {"float", ""};
      if (type == ElementType::kF64) return {"double", ""};
      return {fmt::format("uint{}_t", 8 * bytes), "the bits of each element"};
    default:
      break;
  }
  const char* sign = info.kind == ElementKind::kSigned ? "" : "u";
  return {fmt::format("{}int{}_t", sign, 8 * bytes), info.bits < 8 ? "one element a byte" : ""};
}

// A comment must not end inside the name of a module.
std::string Harmless(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\n' || c == '\r' || (c == '/' && out.ends_with('*')) ? ' ' : c;
  }
  return out;
}

class HeaderText {
 public:
  HeaderText(const Plan& plan, const ObjectCode& object, const std::string& c_name,
             const std::string& target)
      : plan_(plan),
        object_(object),
        name_(c_name),
        upper_(AsciiStrToUpper(c_name)),
        target_(target),
        arguments_(compile::ParameterArrays(plan)),
        results_(compile::ResultArrays(plan)),
        out_(std::back_inserter(text_)) {}

  std::string Write() {
    WriteTop();
    WriteSizes();
    WriteArrays(arguments_, "ARG");
    WriteArrays(results_, "RESULT");
    WriteEntry();
    WriteTyped();
    text_ += "\n#endif\n";
    return std::move(text_);
  }

 private:
  void WriteTop() {
    fmt::format_to(
        out_,
        "/* The module {} compiled ahead of time for {}.\n\n"
        "   {}_run computes its results on the thread that calls it and returns 0{}.\n"
        "   Any number of threads may call it at once, each with its own results and temp.\n"
        "   Arrays are dense and row-major. They and temp begin at a multiple of\n"
        "   {}_ALIGNMENT bytes, and what is written overlaps nothing else. */\n",
        Harmless(plan_.module->name()), target_, name_, Failures(), upper_);
    fmt::format_to(
        out_, "#ifndef HLOSCOPE_{0}_H\n#define HLOSCOPE_{0}_H\n\n#include <stdint.h>\n\n", upper_);
  }

  std::string Failures() const {
    const bool allocates =
        std::ranges::find(object_.symbols, "hloscope_fft") != object_.symbols.end();
    return allocates ? ", 1 where a Fourier transform finds no memory; nothing else allocates"
                     : ". It allocates nothing";
  }

  void WriteSizes() {
    Define("ALIGNMENT", fmt::format("{}", compile::kBufferAlignment));
    Define("TEMP_BYTES", fmt::format("{}", object_.temp_bytes));
    Define("ARGUMENTS", fmt::format("{}", arguments_.size()));
    Define("RESULTS", fmt::format("{}", results_.size()));
    Define("ARGUMENT_BYTES", Bytes(arguments_));
    Define("RESULT_BYTES", Bytes(results_));
  }

  // As what stands behind `= ` of an array; C knows no empty one.
  std::string Bytes(const std::vector<PlanArray>& arrays) const {
    std::vector<int64_t> bytes;
    for (const PlanArray& array : arrays) bytes.push_back(plan_.buffers[array.buffer].bytes);
    return bytes.empty() ? "{0}" : fmt::format("{{{}}}", fmt::join(bytes, ", "));
  }

  void Define(std::string_view what, std::string_view value) {
    fmt::format_to(out_, "#define {}_{} {}\n", upper_, what, value);
  }

  void WriteArrays(const std::vector<PlanArray>& arrays, std::string_view what) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      const PlanArray& array = arrays[i];
      const CType type = CTypeOf(array.shape.element_type());
      fmt::format_to(out_, "\n/* {}{}{} */\n", Harmless(array.name), type.note.empty() ? "" : ": ",
                     type.note);
      Define(fmt::format("{}{}_SHAPE", what, i), '"' + ShapeOf(array) + '"');
      Define(fmt::format("{}{}_ELEMENTS", what, i),
             fmt::format("{}", array.shape.ElementCount().value_or(0)));
      Define(fmt::format("{}{}_BYTES", what, i),
             fmt::format("{}", plan_.buffers[array.buffer].bytes));
    }
  }

  static std::string ShapeOf(const PlanArray& array) {
    return fmt::format("{}[{}]", hlo::Info(array.shape.element_type()).text,
                       fmt::join(array.shape.dimensions(), ","));
  }

  void WriteEntry() {
    fmt::format_to(out_,
                   "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
                   "/* The same with lists of {0}_ARGUMENTS and {0}_RESULTS addresses. */\n"
                   "int32_t {1}(const void *const *arguments, void *const *results, void *temp);\n"
                   "#ifdef __cplusplus\n}}\n#endif\n\n",
                   upper_, EntrySymbol(name_));
  }

  void WriteTyped() {
    fmt::format_to(out_, "static inline int32_t {}_run(", name_);
    WriteParameters(arguments_, "const ", "arg");
    WriteParameters(results_, "", "result");
    text_ += "void *temp) {\n";
    WriteList(arguments_, "const void *const arguments", "arg");
    WriteList(results_, "void *const results", "result");
    fmt::format_to(out_, "  return {}(arguments, results, temp);\n}}\n", EntrySymbol(name_));
  }

  void WriteParameters(const std::vector<PlanArray>& arrays, std::string_view constant,
                       std::string_view name) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      fmt::format_to(out_, "{}{} *{}{} /* {} */,\n    ", constant,
                     CTypeOf(arrays[i].shape.element_type()).name, name, i, ShapeOf(arrays[i]));
    }
  }

  void WriteList(const std::vector<PlanArray>& arrays, std::string_view list,
                 std::string_view name) {
    std::vector<std::string> names;
    for (size_t i = 0; i < arrays.size(); ++i) names.push_back(fmt::format("{}{}", name, i));
    fmt::format_to(out_, "  {}[] = {{{}}};\n", list,
                   names.empty() ? "0" : fmt::format("{}", fmt::join(names, ", ")));
  }

  const Plan& plan_;
  const ObjectCode& object_;
  const std::string name_, upper_, target_;
  std::vector<PlanArray> arguments_, results_;
  std::string text_;
  std::back_insert_iterator<std::string> out_;
};

// What a program links for a symbol beside libm.
struct NeededLibrary {
  std::string_view symbol, library;
};
constexpr NeededLibrary kNeeded[] = {
    {"hloscope_fft", "stdc++"},
};

}  // namespace

std::string CName(std::string_view name) {
  std::string out;
  for (const char c : name) out += IsLetter(c) || IsDigit(c) ? c : '_';
  if (out.empty() || !IsLetter(out[0])) out.insert(0, "m");
  return out;
}

std::string EntrySymbol(const std::string& c_name) { return c_name + "_entry"; }

std::string CHeader(const Plan& plan, const ObjectCode& object, const std::string& c_name,
                    const std::string& target) {
  return HeaderText(plan, object, c_name, target).Write();
}

std::string CMakeFile(const ObjectCode& object, const std::string& c_name,
                      const std::string& object_file, const std::string& program_folder) {
  std::vector<std::string_view> libraries = {"m"};
  for (const auto& [symbol, library] : kNeeded) {
    const bool is_needed = std::ranges::find(object.symbols, symbol) != object.symbols.end();
    if (is_needed && libraries.back() != library) libraries.push_back(library);
  }
  return fmt::format(
      "# include() this file, then target_link_libraries(program PRIVATE {0}).\n"
      "# The runtime is that of find_package(hloscope), else that of the hloscope that wrote the "
      "object;\n"
      "# elsewhere say where it is with -DHLOSCOPE_RUNTIME=/path/to/libhloscope_runtime.a.\n"
      "if(TARGET hloscope::runtime)\n"
      "  set(HLOSCOPE_RUNTIME hloscope::runtime)\n"
      "else()\n"
      "  find_library(HLOSCOPE_RUNTIME NAMES libhloscope_runtime.a HINTS \"{3}\" \"{3}/../lib\" "
      "REQUIRED)\n"
      "endif()\n"
      "add_library({0} INTERFACE IMPORTED)\n"
      "set_target_properties({0} PROPERTIES\n"
      "  INTERFACE_INCLUDE_DIRECTORIES \"${{CMAKE_CURRENT_LIST_DIR}}\"\n"
      "  INTERFACE_LINK_LIBRARIES \"${{CMAKE_CURRENT_LIST_DIR}}/{1};${{HLOSCOPE_RUNTIME}};{2}\")\n",
      c_name, object_file, fmt::join(libraries, ";"), program_folder);
}

}  // namespace hloscope::replay
