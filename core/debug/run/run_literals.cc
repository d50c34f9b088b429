#include "core/debug/run/run_literals.h"

#include "core/base/file.h"
#include "core/base/memory_limit.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

Result<std::vector<hlo::IterationLiterals>> ReadLiteralsFile(const std::string& path,
                                                             const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  auto iterations =
      WithinMemory(limits, path, [&] { return hlo::ReadRunLiterals(file.bytes(), limits); });
  if (!iterations.has_value()) iterations.error().place.file = path;
  return iterations;
}

Status WriteLiteralsFile(const std::string& path,
                         std::span<const hlo::IterationLiterals> iterations) {
  return WriteFileAtomically(path, hlo::RunLiteralsToProto(iterations));
}

std::optional<Literal> FromLeaves(const Shape& shape, std::span<const Result<Literal>> leaves) {
  std::vector<Literal> values;
  for (const Result<Literal>& leaf : leaves) {
    if (!leaf.has_value()) return std::nullopt;
    values.push_back(*leaf);
  }
  size_t next = 0;
  return hlo::NestLeaves(shape, values, next);
}

}  // namespace hloscope::debug
