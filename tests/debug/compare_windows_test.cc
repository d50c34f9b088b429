// Arrays that come window by window compare as they do when they are whole.
#include "core/debug/compare/compare_windows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/zip/zip_writer.h"
#include "core/debug/compare/array_comparison.h"
#include "core/debug/compare/leaf_json.h"

namespace hloscope::debug {
namespace {

std::string Text(const LeafComparison& leaf) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  WriteLeafJson(json, leaf, true);
  json.EndObject();
  for (const BoundPair& pair : leaf.passing_bounds) {
    out += " " + std::to_string(pair.absolute) + "/" + std::to_string(pair.relative);
  }
  return out;
}

template <typename T>
std::string Npy(dump::NpyType type, std::vector<int64_t> sizes, const std::vector<T>& values) {
  return dump::WriteNpy(type, sizes,
                        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

dump::ValueSet SetOf(std::string npy, bool deflate) {
  const ZipEntry entry = {.name = "x.npy", .bytes = npy, .deflate = deflate};
  auto file = FileView::FromBytes("a.npz", *WriteZip(std::span(&entry, 1)));
  return **dump::ValueSet::In(file);
}

// In windows, where there are such, and whole.
void ExpectTheSame(const dump::ValueSet& a, const dump::ValueSet& b) {
  ASSERT_TRUE(a.Windows(0)->has_value() && b.Windows(0)->has_value());
  const auto windows = CompareValues(a, 0, b, 0, {});
  ASSERT_TRUE(windows.has_value()) << windows.error().ToString();
  const dump::NamedValue x = *a.Read(0), y = *b.Read(0);
  const LeafComparison whole = CompareArrays(dump::WithTypeOf(x, y), dump::WithTypeOf(y, x), {});
  EXPECT_EQ(Text(windows->comparison), Text(whole));
}

// More than two windows, whose rows do not end where they do.
constexpr int64_t kRows = 5, kColumns = 1'000'001;
static_assert(kRows * kColumns > 2 * kWindowBytes / int64_t{sizeof(float)});

std::vector<float> Ramp() {
  std::vector<float> values(static_cast<size_t>(kRows * kColumns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) + 1;
  return values;
}

TEST(CompareWindows, SayWhatWholeArraysDo) {
  const std::vector<float> base = Ramp();
  const std::vector<int64_t> sizes = {kRows, kColumns};
  const auto expected = Npy<float>({}, sizes, base);
  // What differs: nothing, in the first window, in the last, in all with the worst in the middle.
  for (const std::vector<size_t>& places :
       {std::vector<size_t>{}, {7}, {base.size() - 1}, {3, 2'500'000, base.size() - 9}}) {
    std::vector<float> changed = base;
    for (const size_t place : places) changed[place] *= place == 2'500'000 ? 3.0F : 1.5F;
    const auto actual = Npy<float>({}, sizes, changed);
    for (const bool deflate : {false, true}) {
      ExpectTheSame(SetOf(actual, deflate), SetOf(expected, deflate));
    }
  }
  std::vector<float> odd = base;
  odd[4'000'000] = std::numeric_limits<float>::quiet_NaN();
  odd[1] = std::numeric_limits<float>::infinity();
  odd[2] = -0.0F;
  ExpectTheSame(SetOf(Npy<float>({}, sizes, odd), false), SetOf(expected, false));
}

TEST(CompareWindows, OfOtherShapesAndTypes) {
  const std::vector<float> few = {1, 2, 3, 4, 5, 6};
  const auto floats = [&](std::vector<int64_t> sizes) {
    return SetOf(Npy<float>({}, std::move(sizes), few), false);
  };
  ExpectTheSame(floats({2, 3}), floats({3, 2}));
  ExpectTheSame(floats({6}), floats({6}));
  const std::vector<uint16_t> halves = {0x3f80, 0x4000};
  const auto as = [&](dump::NpyType type) {
    return SetOf(Npy<uint16_t>(type, {2}, halves), false);
  };
  ExpectTheSame(as({.kind = 'V', .bytes = 2}), as({.kind = 'u', .bytes = 2}));
  const std::vector<float> none;
  ExpectTheSame(SetOf(Npy<float>({}, {0, 4}, none), false),
                SetOf(Npy<float>({}, {0, 4}, none), true));
}

// Column-major arrays are read whole.
TEST(CompareWindows, OfAnotherOrder) {
  std::string npy = Npy<float>({}, {2, 3}, {1, 2, 3, 4, 5, 6});
  const dump::ValueSet rows = SetOf(npy, false);
  constexpr std::string_view kRowMajor = "'fortran_order': False",
                             kOther = "'fortran_order': True ";
  const size_t at = npy.find(kRowMajor);
  ASSERT_NE(at, std::string::npos);
  npy.replace(at, kRowMajor.size(), kOther);
  const dump::ValueSet columns = SetOf(npy, false);
  EXPECT_FALSE(columns.Windows(0)->has_value());
  const auto compared = CompareValues(columns, 0, rows, 0, {});
  ASSERT_TRUE(compared.has_value());
  EXPECT_EQ(compared->comparison.mismatched, 4);
}

TEST(CompareWindows, NoticeDamagedMembers) {
  const std::string npy = Npy<float>({}, {kRows, kColumns}, Ramp());
  for (const bool deflate : {false, true}) {
    const ZipEntry entry = {.name = "x.npy", .bytes = npy, .deflate = deflate};
    std::string bytes = *WriteZip(std::span(&entry, 1));
    const dump::ValueSet good = **dump::ValueSet::In(FileView::FromBytes("a.npz", bytes));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    const dump::ValueSet bad = **dump::ValueSet::In(FileView::FromBytes("b.npz", bytes));
    const auto compared = CompareValues(good, 0, bad, 0, {});
    ASSERT_FALSE(compared.has_value());
    EXPECT_TRUE(compared.error().message.starts_with("b.npz: x.npy ")) << compared.error().message;
  }
}

}  // namespace
}  // namespace hloscope::debug
