// What is said of the places and values of differing elements, and where nothing is.
#include "core/debug/compare/difference_patterns.h"

#include <gtest/gtest.h>

#include <functional>

namespace hloscope::debug {
namespace {

using Index = std::vector<int64_t>;
using Words = std::vector<std::string>;

// Every element is expected to be a number of its own; `change` says what is there.
Words Patterns(const Index& dimensions, const std::function<float(const Index&, float)>& change) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, dimensions);
  const int64_t count = shape.ElementCount().value_or(0);
  std::vector<float> expected, actual;
  for (int64_t i = 0; i < count; ++i) {
    Index index(dimensions.size());
    int64_t rest = i;
    for (size_t d = dimensions.size(); d-- > 0; rest /= dimensions[d])
      index[d] = rest % dimensions[d];
    expected.push_back(1.5f + 0.25f * static_cast<float>(i * i % 1009));
    actual.push_back(change(index, expected.back()));
  }
  return DifferencePatterns(hlo::Literal::Of<float>(shape, actual),
                            hlo::Literal::Of<float>(shape, expected), {1e-6, 1e-6});
}

// Wrong by an amount that follows no rule where `holds`.
std::function<float(const Index&, float)> WrongWhere(
    const std::function<bool(const Index&)>& holds) {
  return [holds](const Index& index, float expected) {
    int64_t mixed = 7;
    for (const int64_t i : index) mixed = (mixed * 31 + i) % 97;
    return holds(index) ? expected + 3 + static_cast<float>(mixed) : expected;
  };
}

TEST(DifferencePatterns, Places) {
  EXPECT_EQ(Patterns({16, 48}, WrongWhere([](const Index& i) { return i[1] == 31; })),
            Words{"only column 31"});
  EXPECT_EQ(Patterns({1000, 4}, WrongWhere([](const Index& i) { return i[0] >= 992; })),
            Words{"only rows ≥ 992"});
  EXPECT_EQ(Patterns({4000}, WrongWhere([](const Index& i) { return i[0] % 1000 >= 992; })),
            Words{"only the last 8 of each 1,000 indices"});
  EXPECT_EQ(
      Patterns({4, 6, 64}, WrongWhere([](const Index& i) { return i[0] == 2 && i[2] % 32 < 3; })),
      Words{"only index 2 of dimension 0 and the first 3 of each 32 indices of dimension 2"});
  EXPECT_EQ(Patterns({8, 8}, WrongWhere([](const Index& i) {
                       return i[0] <= 2 && i[1] >= 4 && i[1] <= 5;
                     })),
            Words{"only rows ≤ 2 and columns 4 to 5"});
}

// One element more or less, and nothing is said.
TEST(DifferencePatterns, HoldOfAllAndOfNoOther) {
  EXPECT_EQ(Patterns({16, 48}, WrongWhere([](const Index& i) { return i[1] == 31 && i[0] != 3; })),
            Words());
  EXPECT_EQ(Patterns({16, 48}, WrongWhere([](const Index& i) {
                       return i[1] == 31 || (i[0] == 3 && i[1] == 5);
                     })),
            Words());
  EXPECT_EQ(Patterns({64}, WrongWhere([](const Index& i) { return i[0] * i[0] % 7 == 2; })),
            Words());
  EXPECT_EQ(Patterns({64}, [](const Index& i, float e) { return i[0] == 9 ? 3 * e : 2 * e; }),
            Words());
  EXPECT_EQ(Patterns({64}, [](const Index&, float e) { return e; }), Words());
}

TEST(DifferencePatterns, Values) {
  EXPECT_EQ(Patterns({64}, [](const Index&, float e) { return 2 * e; }),
            Words{"every value is 2 × the expected"});
  EXPECT_EQ(Patterns({8, 8}, [](const Index& i, float e) { return i[1] == 3 ? e / 4 : e; }),
            (Words{"only column 3", "every differing value is 1/4 of the expected"}));
  EXPECT_EQ(Patterns({64}, [](const Index&, float e) { return -e; }),
            Words{"every value is the expected with the other sign"});
  EXPECT_EQ(Patterns({64}, [](const Index&, float) { return 0.0f; }), Words{"every value is 0"});
  EXPECT_EQ(Patterns({64}, [](const Index&, float e) { return e + 12; }),
            Words{"every value is the expected + 12"});
}

TEST(DifferencePatterns, Moves) {
  const auto meant = [](int64_t i) { return 1.5f + 0.25f * static_cast<float>(i * i % 1009); };
  EXPECT_EQ(Patterns({6, 10},
                     [&](const Index& i, float e) {
                       return i[1] + 1 < 10 ? meant(i[0] * 10 + i[1] + 1) : e + 777;
                     }),
            Words{"shifted by one along dimension 1: each is expected one index later"});
  EXPECT_EQ(Patterns({8, 8}, [&](const Index& i, float) { return meant(i[1] * 8 + i[0]); }),
            Words{"transposed"});
  EXPECT_EQ(Patterns({9}, [&](const Index& i, float) { return meant(8 - i[0]); }),
            Words{"reversed along dimension 0"});
}

}  // namespace
}  // namespace hloscope::debug
