#include "core/dump/tensors/given_constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/closest_text.h"
#include "core/base/counted.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/npz.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/literal.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::dump {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;

// As a name of Python has it.
std::string PythonName(std::string_view name) {
  std::string out(name);
  std::ranges::replace_if(out, [](char c) { return c == '.' || c == '-'; }, '_');
  return out;
}

struct Constants {
  std::map<std::string, std::vector<InstructionId>, std::less<>> by_name;  // both forms of a name
  std::vector<std::string> elided;                                         // in program order
};

Constants ConstantsOf(const Module& module) {
  Constants constants;
  std::map<std::string, std::vector<InstructionId>> by_python_name;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    const auto* value = module.Get<Literal>(module[id], AttributeKey::kConstantValue);
    if (module[id].opcode != hlo::Opcode::kConstant || value == nullptr) continue;
    if (value->elided()) constants.elided.emplace_back(module.name(id));
    constants.by_name[std::string(module.name(id))].push_back(id);
    by_python_name[PythonName(module.name(id))].push_back(id);
  }
  // The name itself goes first; of two that Python would call the same neither is meant.
  for (auto& [name, ids] : by_python_name) {
    if (ids.size() == 1) constants.by_name.try_emplace(name, std::move(ids));
  }
  return constants;
}

// The first few, "x, y and 3 more".
std::string Few(const std::vector<std::string>& names) {
  constexpr size_t kFew = 4;
  const auto first = std::span(names).first(std::min(names.size(), kFew));
  std::string out = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kFew) out += fmt::format(" and {} more", names.size() - kFew);
  return out;
}

std::string FewOrNone(const std::vector<std::string>& names) {
  return names.empty() ? "none" : Few(names);
}

std::string NearestOf(const Constants& constants, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  ClosestText closest(names.front());
  for (const std::string& name : constants.elided) closest.Offer(name);
  return closest.Hint();
}

// One array for every constant of its name: names are unique but in what was called for.
Result<size_t> Take(const NpzArchive& archive, const std::string& name, const Module& module,
                    std::span<const InstructionId> ids, const Limits& limits,
                    hlo::ModuleBuilder& builder) {
  const std::string place = fmt::format("{}: {}", archive.path(), name);
  const auto owner = std::make_shared<std::string>();
  HLOSCOPE_ASSIGN_OR_RETURN(*owner, archive.Read(name));
  HLOSCOPE_ASSIGN_OR_RETURN(const NpyArray array, ReadNpy(*owner, place, limits));
  for (const InstructionId id : ids) {
    if (!module.Get<Literal>(module[id], AttributeKey::kConstantValue)->elided()) {
      return InputError(fmt::format("{}: the constant has its values in the module's file", place),
                        "leave the array out: only constants that are elided take values");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Literal value, LiteralFromNpy(array, module.shape(id), place));
    builder.SetAttribute(id, builder.Make(AttributeKey::kConstantValue, std::move(value)));
  }
  return ids.size();
}

struct Filled {
  hlo::ModuleBuilder builder;
  size_t taken = 0;
  std::vector<std::string> unknown;  // arrays that are of no constant
};

Result<NpzArchive> OpenArchive(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileParts file, FileParts::Open(path, limits));
  return NpzArchive::Open(std::move(file), limits);
}

// `misfits` gets what is wrong with an array; null: the first such is the error.
Result<Filled> Fill(const NpzArchive& archive, const Constants& constants, const Module& module,
                    const Limits& limits, std::vector<std::string>* misfits) {
  Filled filled{.builder = hlo::CopyModule(module), .taken = 0, .unknown = {}};
  std::map<uint32_t, std::string> given;  // of a constant, by its array
  const auto take = [&](const std::string& name,
                        std::span<const InstructionId> ids) -> Result<size_t> {
    const auto [before, is_first] = given.emplace(ids.front().index, name);
    if (is_first) return Take(archive, name, module, ids, limits, filled.builder);
    return InputError(
        fmt::format("{}: {} and {} are of one constant", archive.path(), before->second, name),
        "leave one of them out");
  };
  for (const std::string& name : archive.Names()) {
    const auto found = constants.by_name.find(name);
    if (found == constants.by_name.end()) {
      filled.unknown.push_back(name);
      continue;
    }
    const Result<size_t> taken = take(name, found->second);
    if (!taken && misfits == nullptr) return std::unexpected(taken.error());
    if (!taken) misfits->push_back(taken.error().message);
    filled.taken += taken.value_or(0);
  }
  return filled;
}

}  // namespace

Result<FittingConstants> GiveFittingConstants(const std::shared_ptr<const Module>& module,
                                              const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const NpzArchive archive, OpenArchive(path, limits));
  FittingConstants fitting{.module = module, .taken = 0, .misfits = {}};
  HLOSCOPE_ASSIGN_OR_RETURN(Filled filled,
                            Fill(archive, ConstantsOf(*module), *module, limits, &fitting.misfits));
  fitting.taken = filled.taken;
  if (filled.taken > 0) fitting.module = filled.builder.Build();
  return fitting;
}

Result<LeftOutConstants> LeaveOutConstants(const std::shared_ptr<const Module>& module,
                                           const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const NpzArchive archive, OpenArchive(path, limits));
  const Constants constants = ConstantsOf(*module);
  LeftOutConstants left{.module = module, .count = 0};
  hlo::ModuleBuilder builder = hlo::CopyModule(*module);
  for (const std::string& name : archive.Names()) {
    const auto found = constants.by_name.find(name);
    if (found == constants.by_name.end()) continue;
    for (const InstructionId id : found->second) {
      const auto& value = *module->Get<Literal>((*module)[id], AttributeKey::kConstantValue);
      if (value.elided()) continue;
      builder.SetAttribute(
          id, builder.Make(AttributeKey::kConstantValue, Literal::Elided(value.shape())));
      ++left.count;
    }
  }
  if (left.count > 0) left.module = builder.Build();
  return left;
}

Result<GivenConstants> GiveConstants(const std::shared_ptr<const Module>& module,
                                     const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const NpzArchive archive, OpenArchive(path, limits));
  const Constants constants = ConstantsOf(*module);
  HLOSCOPE_ASSIGN_OR_RETURN(Filled filled, Fill(archive, constants, *module, limits, nullptr));
  const size_t taken = filled.taken;
  const std::vector<std::string>& unknown = filled.unknown;
  if (taken == 0) {
    return InputError(
        fmt::format("{}: no array is of an elided constant of module {}: the arrays are {}, the "
                    "elided constants {}",
                    path, module->name(), FewOrNone(archive.Names()), FewOrNone(constants.elided)),
        NearestOf(constants, unknown));
  }
  std::string note =
      fmt::format("the values of {} are those of {}", Counted(taken, "elided constant"), path);
  if (const size_t left = constants.elided.size() - std::min(taken, constants.elided.size());
      left > 0)
    note += fmt::format(", {} {} elided", left, VerbFor(left, "is still", "are still"));
  if (!unknown.empty()) {
    note += fmt::format("; {} {} of no constant", Few(unknown),
                        VerbFor(std::ssize(unknown), "is", "are"));
  }
  return GivenConstants{filled.builder.Build(), std::move(note)};
}

}  // namespace hloscope::dump
