// RunInputs: leaves per device, and the arguments they came from.
#include "core/debug/run/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/base/counted.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/attribute.h"
#include "core/replay/inputs/inputs.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

namespace {

// Puts leaves back together as literals of the parameters' tuples.
std::vector<Literal> Nest(const hlo::Module& module, std::span<const Literal> leaves) {
  size_t next = 0;
  std::vector<Literal> arguments;
  for (const Shape& shape : replay::ParameterShapes(module)) {
    arguments.push_back(hlo::NestLeaves(shape, leaves, next).value_or(Literal()));
  }
  return arguments;
}

Status CheckParameters(const hlo::Module& module) {
  for (hlo::InstructionId id : module.Parameters(module.entry_id())) {
    if (!id.valid()) return InputError("a parameter number is missing");
  }
  return {};
}

// One value per list for leaf i: what is given for the device alone, else its part of what is given
// for all.
Result<std::vector<Literal>> ReadLeaf(const dump::TensorFiles& files,
                                      const replay::Placement& placement,
                                      const replay::LeafPlacement& leaf, int64_t i) {
  std::vector<std::optional<Literal>> own(static_cast<size_t>(placement.lists()));
  for (size_t list = 0; own.size() > 1 && list < own.size(); ++list) {
    HLOSCOPE_ASSIGN_OR_RETURN(own[list], files.InputOf(static_cast<int64_t>(list), i, leaf.shape));
  }
  const auto is_given = [](const std::optional<Literal>& value) { return value.has_value(); };
  const auto missing = std::ranges::find_if_not(own, is_given);
  std::vector<Literal> values;
  if (missing != own.end()) {
    const auto accepts = [&](std::span<const int64_t> d) { return placement.Accepts(leaf, d); };
    HLOSCOPE_ASSIGN_OR_RETURN(auto given, files.Input(i, leaf.shape, accepts));
    if (!given && std::ranges::any_of(own, is_given)) {
      const auto device = missing - own.begin();
      return InputError(
          fmt::format("input {} is given for other devices but not for device {}", i, device),
          fmt::format("add in{}@{}, or in{} for all that have none of their own", i, device, i));
    }
    if (!given) {
      return InputError(fmt::format("input {} is missing: no in{}, input_{} or arr_{} for {}", i, i,
                                    i, i, placement.Accepted(leaf)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(values, placement.Spread(leaf, *given));
  }
  values.resize(own.size(), Literal::Token());
  for (size_t list = 0; list < own.size(); ++list) {
    if (own[list]) values[list] = *std::move(own[list]);
  }
  return values;
}

// The whole array that Spread would turn into these values; nullopt if there is none.
std::optional<Literal> Whole(const replay::Placement& placement, const replay::LeafPlacement& leaf,
                             std::vector<Literal> values) {
  const bool alike = std::ranges::all_of(std::span(values).subspan(1),
                                         [&](const Literal& v) { return v == values[0]; });
  if (alike || !leaf.shape.IsArray()) return values[0];
  if (!leaf.tiling && placement.partitions() > 1) return std::nullopt;
  replay::LeafPlacement copy = leaf;
  auto gathered = placement.Gather(copy, values);
  if (!gathered.warning.empty()) return std::nullopt;
  return std::move(gathered.value);
}

std::vector<Literal> LeafOf(const RunInputs& inputs, size_t i) {
  std::vector<Literal> values;
  for (const auto& list : inputs.lists) values.push_back(list[i]);
  return values;
}

void NestArguments(RunInputs& inputs, const hlo::Module& module,
                   const replay::Placement& placement) {
  std::vector<Literal> leaves;
  for (size_t i = 0; i < placement.parameters().size(); ++i) {
    auto whole = Whole(placement, placement.parameters()[i], LeafOf(inputs, i));
    leaves.push_back(whole ? *std::move(whole) : inputs.lists[0][i]);
  }
  inputs.arguments = Nest(module, leaves);
}

// What is said of arrays that no parameter takes: the function may have more arguments than the
// module has parameters.
std::vector<std::string> UnusedInputs(const dump::TensorFiles& files,
                                      const replay::Placement& placement) {
  const int64_t arrays = std::ranges::count_if(
      placement.parameters(), [](const auto& leaf) { return leaf.shape.IsArray(); });
  std::vector<std::string> lines = files.Unused({.side = dump::TensorNames::kInputs,
                                                 .leaves = arrays,
                                                 .arrays = arrays,
                                                 .devices = placement.lists()});
  for (std::string& line : lines) {
    const bool of_a_device = placement.lists() == 1 && line.find('@', line.find(": ")) != line.npos;
    line += fmt::format(
        ": the parameters are {} ({})", Counted(arrays, "array"),
        of_a_device
            ? "arrays of single devices, in0@0, are for partitioned modules; this one takes "
              "whole arrays, in0"
            : "jax.jit drops arguments that the function does not use");
  }
  return lines;
}

// An array that does not fit may be one that an unused argument has moved.
Error WithUnused(Error error, const dump::TensorFiles& files, const replay::Placement& placement) {
  const std::vector<std::string> unused = UnusedInputs(files, placement);
  if (!error.hint.empty()) return error;
  if (!unused.empty()) error.hint = unused.front();
  if (unused.empty() && error.message.contains(" is missing: ")) error.hint = files.Contents();
  return error;
}

void Add(RunInputs& inputs, std::vector<Literal> values) {
  inputs.lists.resize(values.size());
  for (size_t list = 0; list < values.size(); ++list) {
    inputs.lists[list].push_back(std::move(values[list]));
  }
}

// "w" of "w.1": names are made unique by a number.
std::string_view WithoutNumber(std::string_view name) {
  const size_t dot = name.rfind('.');
  const bool is_number = dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
                         name.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
  return is_number ? name.substr(0, dot) : name;
}

}  // namespace

void NumberByParameters(dump::TensorFiles& files, const hlo::Module& module) {
  std::vector<std::string> names, bare, of_program;
  for (const hlo::InstructionId id : module.Parameters(module.entry_id())) {
    if (!id.valid()) return;
    const Shape& shape = module.shape(id);
    if (shape.IsToken()) continue;
    if (!shape.IsArray()) return;  // a tuple has one name for many arrays
    names.emplace_back(module.name(id));
    bare.emplace_back(WithoutNumber(module.name(id)));
    const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
    of_program.emplace_back(metadata == nullptr ? std::string_view() : module[metadata->op_name]);
  }
  for (const auto* each : {&names, &bare, &of_program}) {
    if (files.NumberBy(*each)) return;
  }
}

Result<RunInputs> ReadInputs(const dump::TensorFiles& files, const hlo::Module& module,
                             const replay::Placement& placement) {
  HLOSCOPE_TRY(CheckParameters(module));
  RunInputs inputs;
  inputs.lists.resize(static_cast<size_t>(placement.lists()));
  int64_t i = 0;
  for (const replay::LeafPlacement& leaf : placement.parameters()) {
    if (!leaf.shape.IsArray()) {
      Add(inputs, std::vector<Literal>(inputs.lists.size(), Literal::Token()));
      continue;
    }
    Result<std::vector<Literal>> values = ReadLeaf(files, placement, leaf, i++);
    if (!values) return std::unexpected(WithUnused(std::move(values).error(), files, placement));
    Add(inputs, *std::move(values));
  }
  if (files.file_count() > i) {
    return InputError(fmt::format("{} given for {}", Counted(files.file_count(), ".npy file"),
                                  Counted(i, "array")),
                      "one file for each array that the parameters have, in their order");
  }
  if (const auto unused = files.UnusedDeviceInput(i, placement.lists())) {
    return InputError(
        fmt::format("{} is of no device: the module takes {} of {}", *unused,
                    placement.lists() == 1 ? "one list"
                                           : fmt::format("lists 0 to {}", placement.lists() - 1),
                    Counted(i, "array")),
        placement.lists() == 1 ? "name it without @ and a number" : "");
  }
  inputs.warnings = UnusedInputs(files, placement);
  NestArguments(inputs, module, placement);
  return inputs;
}

Result<RunInputs> SpreadArguments(std::vector<Literal> arguments, const hlo::Module& module,
                                  const replay::Placement& placement) {
  HLOSCOPE_TRY(CheckParameters(module));
  RunInputs inputs;
  inputs.lists.resize(static_cast<size_t>(placement.lists()));
  std::vector<Literal> leaves;
  for (const Literal& argument : arguments) {
    for (Literal& leaf : dump::FlattenLiteral(argument)) leaves.push_back(std::move(leaf));
  }
  const auto& parameters = placement.parameters();
  if (leaves.size() != parameters.size()) {
    return InputError(
        fmt::format("{} given, the parameters have {}", Counted(leaves.size(), "value"),
                    Counted(parameters.size(), "array or token", "arrays or tokens")));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    Result<std::vector<Literal>> values = placement.Spread(parameters[i], leaves[i]);
    if (!values) {
      Error error = std::move(values).error();
      error.message = fmt::format("input {}: {}", i, error.message);
      return std::unexpected(std::move(error));
    }
    Add(inputs, *std::move(values));
  }
  inputs.arguments = std::move(arguments);
  return inputs;
}

Result<RunInputs> GenerateInputs(const hlo::Module& module, const replay::Placement& placement,
                                 const replay::InputOptions& options,
                                 std::vector<std::string>& warnings) {
  HLOSCOPE_TRY(CheckParameters(module));
  const auto generate = [&](uint64_t each) -> Result<std::vector<Literal>> {
    replay::InputOptions own = options;
    own.seed = each;
    HLOSCOPE_ASSIGN_OR_RETURN(replay::GeneratedInputs made, replay::MakeInputs(module, own));
    if (each == options.seed) warnings = std::move(made.warnings);
    std::vector<Literal> leaves;
    for (const Literal& argument : made.literals) {
      for (Literal& leaf : dump::FlattenLiteral(argument)) leaves.push_back(std::move(leaf));
    }
    return leaves;
  };
  RunInputs inputs;
  HLOSCOPE_ASSIGN_OR_RETURN(inputs.lists,
                            replay::GenerateInputLists(placement, options.seed, generate));
  NestArguments(inputs, module, placement);
  return inputs;
}

namespace {

// Under the names that ReadInputs looks for.
std::vector<std::pair<std::string, Literal>> Named(std::string_view prefix, const RunInputs& inputs,
                                                   const replay::Placement& placement) {
  std::vector<std::pair<std::string, Literal>> named;
  size_t number = 0;
  for (size_t i = 0; i < placement.parameters().size(); ++i) {
    const replay::LeafPlacement& leaf = placement.parameters()[i];
    if (leaf.shape.IsToken()) continue;
    std::vector<Literal> values = LeafOf(inputs, i);
    const std::string name = fmt::format("{}{}", prefix, number++);
    if (auto whole = Whole(placement, leaf, values)) {
      named.emplace_back(name, *std::move(whole));
      continue;
    }
    for (size_t list = 0; list < values.size(); ++list) {
      named.emplace_back(fmt::format("{}@{}", name, list), std::move(values[list]));
    }
  }
  return named;
}

}  // namespace

Status WriteRunInputs(const std::string& path, const RunInputs& inputs,
                      const replay::Placement& placement) {
  return dump::WriteInputs(path,
                           Named(path.ends_with(".npz") ? "in" : "input_", inputs, placement));
}

int64_t BytesOfRunInputs(const RunInputs& inputs, const replay::Placement& placement) {
  return dump::BytesOfInputs(Named("in", inputs, placement));
}

bool IsOfGivenFiles(const Error& error, const RunSpec& run) {
  const std::string text = error.ToString();
  const auto names = [&](std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    if (path.empty() || !text.starts_with(path)) return false;
    const std::string_view rest = std::string_view(text).substr(path.size());
    // In a folder the file is named.
    return rest.starts_with(':') ||
           (rest.starts_with('/') && rest.substr(0, rest.find(':')).ends_with(".npy"));
  };
  return std::ranges::any_of(run.inputs.files, names) ||
         std::ranges::any_of(run.inputs.infeed, names) ||
         std::ranges::any_of(run.compare.expect, names) || names(run.inputs.literals_file);
}

}  // namespace hloscope::debug
