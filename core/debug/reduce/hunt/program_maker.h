// ProgramMaker: what the nodes of one random program share: its numbers, its types and sizes, and
// the computations that they call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/reduce/hunt/draft.h"

namespace hloscope::debug {

class ProgramMaker {
 public:
  explicit ProgramMaker(uint64_t seed);

  std::shared_ptr<const hlo::Module> Make();

  // Random choices.
  uint64_t Below(uint64_t end) { return random_.Next() % end; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  int64_t Between(int64_t low, int64_t high) { return random_.NextBetween(low, high); }
  template <typename T, size_t kCount>
  const T& OneOf(const T (&values)[kCount]) {
    return values[Below(kCount)];
  }
  hlo::ElementType AnyType() { return types_[Below(types_.size())]; }
  int64_t replicas() const { return replicas_; }      // devices that run the program
  int64_t partitions() const { return partitions_; }  // devices that it is cut up for
  int64_t AnySize();
  std::vector<int64_t> AnyDimensions(size_t rank);
  hlo::Literal AnyLiteral(const hlo::Shape& shape);

  hlo::ModuleBuilder& builder() { return builder_; }

  // A value of the draft that the predicate takes; nullopt where there is none.
  using Fits = std::function<bool(const DraftNode&)>;
  std::optional<DraftId> Pick(const Draft& draft, const Fits& fits);
  std::optional<DraftId> PickArray(const Draft& draft);
  // An array of exactly that shape: one that is there, or a new one.
  DraftId PickOrMake(Draft& draft, const hlo::Shape& shape, int most_roundings = 100);
  // A new value: a parameter of the entry, or a constant.
  DraftId Fresh(Draft& draft, const hlo::Shape& shape);
  DraftId Scalar(Draft& draft, hlo::ElementType type, double value);
  DraftId Fill(Draft& draft, const hlo::Shape& shape, double value);

  // A computation of scalars (a, b) -> opcode(a, b).
  hlo::ComputationId ScalarComputation(hlo::Opcode opcode, hlo::ElementType type);
  // A computation of those parameters that ends in values of `results`, a tuple where there are
  // several or `as_tuple` says so. Emitted when this returns.
  struct Body {
    hlo::ComputationId id;
    int roundings = 0;
    bool bits = true;
  };
  Body RandomBody(const Draft& caller, std::span<const hlo::Shape> parameters, int roundings,
                  const hlo::Shape& result, std::string_view name);
  std::string FreshName(std::string_view stem);
  Draft Inner(const Draft& caller) { return {builder_, programs_, caller.nesting() + 1}; }
  hlo::ProgramShapes& programs() { return programs_; }

  // Adds nodes until there are that many more, or nothing comes about any more.
  void Grow(Draft& draft, size_t nodes);

 private:
  void ChooseTypes();
  void Shard(Draft& draft);
  DraftId RootOf(Draft& draft);

  eval::RandomBits random_;
  hlo::ModuleBuilder builder_;
  hlo::ProgramShapes programs_;
  std::vector<hlo::ElementType> types_;
  std::vector<int64_t> sizes_;
  int64_t replicas_ = 1, partitions_ = 1;
  int next_name_ = 0;
};

// Program `number` of those that `seed` stands for; depends on these two alone. Sound for the
// verifier.
std::shared_ptr<const hlo::Module> RandomProgram(uint64_t seed, uint64_t number);

}  // namespace hloscope::debug
