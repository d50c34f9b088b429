// Reading and writing literals files.
#include "core/debug/run_literals.h"

#include "core/base/file.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

namespace {

// Shapes nest no deeper than the limit they were read with.
std::optional<Literal> Gather(const Shape& shape, std::span<const Result<Literal>> leaves,
                              size_t& next) {
  if (!shape.IsTuple()) {
    if (next >= leaves.size() || !leaves[next].has_value()) return std::nullopt;
    return *leaves[next++];
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    std::optional<Literal> literal = Gather(element, leaves, next);
    if (!literal) return std::nullopt;
    elements.push_back(*std::move(literal));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace

Result<std::vector<hlo::IterationLiterals>> ReadLiteralsFile(const std::string& path,
                                                             const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  auto iterations = hlo::ReadRunLiterals(file.bytes(), limits);
  if (!iterations.has_value()) iterations.error().place.file = path;
  return iterations;
}

Status WriteLiteralsFile(const std::string& path,
                         std::span<const hlo::IterationLiterals> iterations) {
  return WriteFileAtomically(path, hlo::RunLiteralsToProto(iterations));
}

std::optional<Literal> FromLeaves(const Shape& shape, std::span<const Result<Literal>> leaves) {
  size_t next = 0;
  return Gather(shape, leaves, next);
}

}  // namespace hloscope::debug
