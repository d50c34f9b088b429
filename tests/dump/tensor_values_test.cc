// Tests of .npy and .npz reading and writing and of the names and types of values on disk.
#include "core/dump/tensors/tensor_values.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/dump/tensors/named_values.h"

namespace hloscope::dump {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

std::string Npy(const std::string& header, std::string_view data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + header + std::string(data);
}

std::string Header(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

// The elements of `bytes` read for `shape`, or the message of the error.
Result<std::vector<int>> ReadAs(const std::string& bytes, const Shape& shape) {
  HLOSCOPE_ASSIGN_OR_RETURN(const NpyArray array, ReadNpy(bytes, "a.npy"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Literal literal, LiteralFromNpy(array, shape, "a.npy"));
  std::vector<int> values;
  for (std::byte b : literal.bytes()) values.push_back(static_cast<int8_t>(b));
  return values;
}

TEST(Npy, ReadsOrdersAndVersions) {
  const Shape s16 = Shape::Array(ElementType::kS16, {2, 2});
  const std::string rows("\1\0\2\0\3\0\4\0", 8), swapped("\0\1\0\2\0\3\0\4", 8);
  const std::vector<int> want = {1, 0, 2, 0, 3, 0, 4, 0}, transposed = {1, 0, 3, 0, 2, 0, 4, 0};
  EXPECT_EQ(*ReadAs(Npy(Header("<i2", "(2, 2)"), rows), s16), want);
  EXPECT_EQ(*ReadAs(Npy(Header(">i2", "(2, 2)"), swapped), s16), want);
  EXPECT_EQ(*ReadAs(Npy(Header("<i2", "(2, 2)", true), rows), s16), transposed);
  EXPECT_EQ(*ReadAs(Npy(Header("<i2", "(2L, 2L)"), rows, 2), s16), want);
  EXPECT_EQ(*ReadAs(Npy(Header("<i2", "(2, 2)"), rows, 3), s16), want);
}

TEST(Npy, TypesThatNumpyCannotNameAreIntegers) {
  const std::string bytes("\x0f\x07\x18", 3);
  const auto npy = [&](std::string_view descr) { return Npy(Header(descr, "(3,)"), bytes); };
  const auto array = [](ElementType type) { return Shape::Array(type, {3}); };
  EXPECT_EQ(*ReadAs(npy("|u1"), array(ElementType::kS4)), (std::vector<int>{-1, 7, -8}));
  EXPECT_EQ(*ReadAs(npy("|V1"), array(ElementType::kU4)), (std::vector<int>{15, 7, 8}));
  EXPECT_EQ(*ReadAs(npy("|i1"), array(ElementType::kF8E5M2)), (std::vector<int>{15, 7, 24}));
  EXPECT_EQ(*ReadAs(npy("|u1"), array(ElementType::kPred)), (std::vector<int>{1, 1, 1}));
  EXPECT_FALSE(ReadAs(npy("|u1"), array(ElementType::kS8)).has_value());
  EXPECT_FALSE(ReadAs(npy("|u1"), array(ElementType::kBF16)).has_value());
}

TEST(Npy, TypesOfMlDtypesAreKept) {
  const std::pair<ElementType, std::string_view> rows[] = {
      {ElementType::kBF16, "bfloat16"},          {ElementType::kF8E5M2, "float8_e5m2"},
      {ElementType::kF8E4M3FN, "float8_e4m3fn"}, {ElementType::kF8E8M0FNU, "float8_e8m0fnu"},
      {ElementType::kF4E2M1FN, "float4_e2m1fn"},
  };
  for (const auto& [type, name] : rows) {
    const Shape shape = Shape::Array(type, {2});
    std::vector<std::byte> bytes(static_cast<size_t>(2 * hlo::StorageBytes(type)), std::byte{3});
    const Literal literal = Literal::Dense(shape, bytes);
    const std::string written = NpyFromLiteral(literal);
    EXPECT_NE(written.find("'descr': '" + std::string(name) + "'"), std::string::npos) << name;
    const auto array = ReadNpy(written, "a.npy");
    ASSERT_TRUE(array.has_value()) << name;
    EXPECT_EQ(array->type.extended, type) << name;
    EXPECT_EQ(*LiteralFromNpy(*array, shape, "a.npy"), literal) << name;
    EXPECT_FALSE(LiteralFromNpy(*array, Shape::Array(ElementType::kF8E3M4, {2}), "a.npy")) << name;
    const auto values = NamedValuesIn(FileView::FromBytes("a.npy", std::string(written)), Limits());
    ASSERT_TRUE(values.has_value() && values->has_value()) << name;
    EXPECT_EQ((**values)[0].value, literal) << name;
  }
  // What numpy writes of arrays of ml_dtypes.
  const std::string two("\0\x80\0\0", 4);
  EXPECT_EQ(ReadNpy(Npy(Header("<f1", "(4,)"), two), "a.npy")->type.extended, ElementType::kF8E5M2);
  const auto raw = NamedValuesIn(FileView::FromBytes("a.npy", Npy(Header("<V2", "(2,)"), two)));
  EXPECT_EQ((**raw)[0].value.shape(), Shape::Array(ElementType::kBF16, {2}));
  const auto old = NamedValuesIn(FileView::FromBytes("a.npy", Npy(Header("<u2", "(2,)"), two)));
  EXPECT_EQ(WithTypeOf((**old)[0], (**raw)[0]), (**raw)[0].value);
  // One byte may be any of the narrow types: the other side says which.
  const std::string one("\x38\x3c", 2);
  const auto bytes = NamedValuesIn(FileView::FromBytes("a.npy", Npy(Header("|V1", "(2,)"), one)));
  const auto typed =
      NamedValuesIn(FileView::FromBytes("a.npy", Npy(Header("float8_e4m3fn", "(2,)"), one)));
  ASSERT_TRUE((**bytes)[0].is_raw && !(**typed)[0].is_raw);
  EXPECT_EQ((**bytes)[0].value.shape(), Shape::Array(ElementType::kU8, {2}));
  EXPECT_EQ(WithTypeOf((**bytes)[0], (**typed)[0]), (**typed)[0].value);
  EXPECT_EQ(ReadNpy(Npy(Header("int4", "(4,)"), two), "a.npy")->type.extended, ElementType::kS4);
}

TEST(Npy, RefusesNonNumericArrays) {
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const std::string data(8, '\0');
  const std::string bad[] = {
      "",
      "\x93NUMPY",
      "PK\3\4",
      Npy(Header("|O", "(2,)"), data),
      Npy(Header("<f4", "(3,)"), data),
      Npy(Header("<f4", "(-2,)"), data),
      Npy(Header("<f4", "(9223372036854775807, 9223372036854775807)"), data),
      Npy(Header("<f16", "(2,)"), data),
      Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", data),
      Npy("{'descr': '<f4'}\n", data),
      Npy("{'shape': (2,), 'shape': (), 'descr': '<f4'}\n", data),
      Npy("{'fortran_order': False, 'fortran_order': False, 'shape': (2,)}\n", data),
      Npy(Header("<f4", "(2,"), data),
      Npy(Header("<f4", "(2,)"), data, 9),
  };
  for (const std::string& bytes : bad) {
    EXPECT_FALSE(ReadAs(bytes, shape).has_value()) << bytes;
  }
  EXPECT_FALSE(ReadAs(Npy(Header("<f4", "(2, 1)"), data), shape).has_value());
}

Result<NpzArchive> Open(std::string bytes, const Limits& limits = {}) {
  return NpzArchive::Open(FileView::FromBytes("a.npz", std::move(bytes)), limits);
}

TEST(Npz, ReadsWhatItWrites) {
  const std::pair<std::string, std::string> members[] = {{"in0", "first"}, {"in1", ""}};
  const std::string bytes = *WriteNpz(members);
  const auto archive = Open(bytes);
  ASSERT_TRUE(archive.has_value());
  EXPECT_EQ(archive->Names(), (std::vector<std::string>{"in0", "in1"}));
  EXPECT_EQ(*archive->Read("in0"), "first");
  EXPECT_EQ(*archive->Read("in1"), "");
  EXPECT_FALSE(archive->Read("in2").has_value());
  EXPECT_EQ(bytes, *WriteNpz(members));
}

// As files of 4 GiB are written, only smaller.
TEST(Npz, ReadsWhatItWritesAsZip64) {
  const std::pair<std::string, std::string> members[] = {
      {"in0", "first"}, {"in1", ""}, {"in2", std::string(100, 'x')}, {"in3", "last"}};
  for (const uint64_t wide_from : {0, 5, 80, 180, 300}) {
    const auto archive = Open(*WriteNpz(members, wide_from));
    ASSERT_TRUE(archive.has_value()) << wide_from;
    for (const auto& [name, bytes] : members) EXPECT_EQ(*archive->Read(name), bytes) << wide_from;
    std::vector<ZipMemberSize> sizes;
    for (const auto& [name, bytes] : members) {
      sizes.push_back({name + ".npy", bytes.size(), bytes.size()});
    }
    EXPECT_EQ(BytesOfZip(sizes, wide_from), WriteNpz(members, wide_from)->size()) << wide_from;
  }
}

// Of an archive on disk no more is read than what is asked for: its directory and that member.
TEST(Npz, ReadsPartsOfAFile) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hloscope_parts_" + std::to_string(::getpid())))
          .string();
  const std::pair<std::string, std::string> members[] = {{"in0", std::string(1 << 20, 'x')},
                                                         {"in1", "small"}};
  ASSERT_TRUE(WriteFileAtomically(path, *WriteNpz(members)).has_value());
  const auto archive = NpzArchive::Open(*FileParts::Open(path, {}));
  ASSERT_TRUE(archive.has_value());
  EXPECT_EQ(archive->SizeOf("in0"), 1u << 20);
  EXPECT_EQ(*archive->ReadHead("in0", 3), "xxx");
  EXPECT_EQ(*archive->ReadHead("in1", 30), "small");
  EXPECT_EQ(*archive->Read("in0"), members[0].second);
  EXPECT_EQ(*archive->Read("in1"), "small");
  std::filesystem::remove(path);
}

// The first bytes of what was packed are unpacked alone, and need no more than that of the file.
TEST(Npz, ReadsHeadsOfPackedMembers) {
  std::string bytes(1 << 20, '\0');
  uint32_t state = 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    state = state * 1664525 + 1013904223;
    bytes[i] = static_cast<char>(i % 3 == 0 ? 'a' : state >> 29);
  }
  const ZipEntry entry = {.name = "a", .bytes = bytes, .deflate = true};
  const std::string written = *WriteZip(std::span(&entry, 1));
  ASSERT_LT(written.size(), bytes.size());
  const auto archive = ZipArchive::Open(FileView::FromBytes("a.zip", written));
  ASSERT_TRUE(archive.has_value());
  const ZipArchive::Member& member = archive->members()[0];
  for (const size_t size : {size_t{0}, size_t{1}, size_t{70'000}, bytes.size(), bytes.size() + 9}) {
    EXPECT_EQ(*archive->ReadHead(member, size), bytes.substr(0, size)) << size;
  }
  EXPECT_EQ(*archive->Read(member), bytes);
  const ZipMemberSize sizes[] = {SizeOfEntry(entry)};
  EXPECT_EQ(BytesOfZip(sizes), written.size());
}

// What numpy writes is not copied again, whatever its order of bytes; of other orders of elements
// it is.
TEST(Npy, KeepsTheBytesItIsGiven) {
  const Shape shape = Shape::Array(ElementType::kS32, {2, 2});
  const std::string data("\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4", 16);
  for (const bool fortran : {false, true}) {
    std::string header = Header(">i4", "(2, 2)", fortran);
    while ((10 + header.size()) % 16 != 0) header.insert(header.size() - 1, " ");
    const auto bytes = std::make_shared<std::string>(Npy(header, data));
    const auto array = ReadNpy(*bytes, "a.npy");
    ASSERT_TRUE(array.has_value());
    const auto copy = LiteralFromNpy(*array, shape, "a.npy");
    const auto kept = LiteralFromNpy(*array, shape, "a.npy", bytes);
    ASSERT_TRUE(copy.has_value() && kept.has_value());
    EXPECT_EQ(*copy, *kept);
    EXPECT_EQ(kept->data<int32_t>()[1], fortran ? 3 : 2);
    const void* own = bytes->data() + (bytes->size() - data.size());
    EXPECT_EQ(kept->bytes().data() == own, !fortran);
  }
}

TEST(TensorFiles, HeadersAloneGiveShapesAndTheSameErrors) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hloscope_heads_" + std::to_string(::getpid())))
          .string() +
      ".npz";
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const float first[] = {1, 2};
  const Literal values[] = {Literal::Of<float>(shape, first)};
  ASSERT_TRUE(WriteTensors(path, TensorNames::kInputs, values).has_value());
  const std::pair<std::string, Literal> named[] = {{"in0", values[0]}};
  EXPECT_EQ(BytesOfInputs(named), static_cast<int64_t>(std::filesystem::file_size(path)));
  auto files = TensorFiles::Open(std::span(&path, 1));
  auto heads = TensorFiles::Open(std::span(&path, 1));
  ASSERT_TRUE(files.has_value() && heads.has_value());
  heads->ReadHeadersOnly();
  ASSERT_TRUE(heads->Input(0, shape).has_value());
  EXPECT_TRUE((*heads->Input(0, shape))->elided());
  EXPECT_EQ((*heads->Input(0, shape))->shape(), shape);
  EXPECT_EQ(**files->InputDimensions(0), (std::vector<int64_t>{2}));
  for (const Shape& other :
       {Shape::Array(ElementType::kF32, {3}), Shape::Array(ElementType::kS32, {2})}) {
    ASSERT_FALSE(heads->Input(0, other).has_value());
    EXPECT_EQ(heads->Input(0, other).error().ToString(), files->Input(0, other).error().ToString());
  }
  std::filesystem::remove(path);
}

// No single wrong byte makes it crash; one in a member's data is noticed.
TEST(Npz, SurvivesDamage) {
  const std::pair<std::string, std::string> members[] = {{"a", "some bytes"}, {"b", "others"}};
  const std::string good = *WriteNpz(members);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    const auto archive = Open(bad);
    if (!archive.has_value()) continue;
    for (const std::string& name : archive->Names()) (void)archive->Read(name);
    EXPECT_FALSE(Open(good.substr(0, i)).has_value() && i < good.size() - 22);
  }
  std::string bad = good;
  bad[good.find("some bytes")] = 'S';
  EXPECT_FALSE(Open(bad)->Read("a").has_value());
}

TEST(Npz, HoldsToItsLimits) {
  const std::pair<std::string, std::string> members[] = {{"a", std::string(1000, 'x')},
                                                         {"b", std::string(1000, 'x')}};
  const std::string bytes = *WriteNpz(members);
  Limits limits;
  limits.archive_members = 1;
  EXPECT_FALSE(Open(bytes, limits).has_value());
  limits = {};
  limits.archive_member_bytes = 999;
  EXPECT_FALSE(Open(bytes, limits).has_value());
  limits = {};
  limits.archive_bytes = 1999;
  EXPECT_FALSE(Open(bytes, limits).has_value());
}

TEST(TensorFiles, FindsValuesByName) {
  const auto scratch =
      std::filesystem::temp_directory_path() / ("hloscope_tensors_" + std::to_string(::getpid()));
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const float first[] = {1, 2}, second[] = {3, 4};
  const Literal values[] = {Literal::Of<float>(shape, first), Literal::Of<float>(shape, second)};
  const std::string archive = scratch.string() + ".npz", directory = scratch.string();
  ASSERT_TRUE(WriteTensors(archive, TensorNames::kInputs, values).has_value());
  ASSERT_TRUE(WriteTensors(directory, TensorNames::kOutputs, values).has_value());
  const std::string paths[] = {archive, directory};
  const auto files = TensorFiles::Open(paths);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(**files->Input(1, shape), values[1]);
  EXPECT_EQ(**files->Output(0, 0, shape), values[0]);
  EXPECT_FALSE(files->Output(2, 2, shape)->has_value());
  std::filesystem::remove_all(directory);
  std::filesystem::remove(archive);
}

// As np.savez(f, *outs) names them; of leaves {token, f32[2], f32[2]} numpy writes the arrays
// alone.
TEST(TensorFiles, ResultsMayBeCalledAsNumpyCallsThem) {
  const auto path = (std::filesystem::temp_directory_path() /
                     ("hloscope_arr_" + std::to_string(::getpid()) + ".npz"))
                        .string();
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const float first[] = {1, 2}, second[] = {3, 4};
  const Literal a = Literal::Of<float>(shape, first), b = Literal::Of<float>(shape, second);
  const std::pair<std::string, Literal> named[] = {{"arr_0", a}, {"arr_1", b}};
  ASSERT_TRUE(WriteInputs(path, named).has_value());
  const std::string paths[] = {path};
  const auto files = TensorFiles::Open(paths);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(**files->Output(1, 0, shape), a);
  EXPECT_EQ(**files->Output(2, 1, shape), b);
  EXPECT_EQ(**files->Input(1, shape), b);
  EXPECT_TRUE(files->Unused({.side = TensorNames::kOutputs, .leaves = 3, .arrays = 2}).empty());
  std::filesystem::remove(path);
}

TEST(TensorFiles, ArraysThatNobodyTakesAreNamed) {
  const auto base =
      (std::filesystem::temp_directory_path() / ("hloscope_unused_" + std::to_string(::getpid())))
          .string();
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const float values[] = {1, 2};
  const Literal a = Literal::Of<float>(shape, values);
  const auto unused = [&](std::vector<std::string> names, const TensorFiles::Taken& taken) {
    std::vector<std::pair<std::string, Literal>> named;
    for (std::string& name : names) named.emplace_back(std::move(name), a);
    const std::string path = base + ".npz";
    EXPECT_TRUE(WriteInputs(path, named).has_value());
    const std::string paths[] = {path};
    std::string all;
    for (const std::string& line : TensorFiles::Open(paths)->Unused(taken)) {
      all += line.substr(path.size() + 2);
    }
    return all;
  };
  const TensorFiles::Taken two = {.leaves = 2, .arrays = 2};
  EXPECT_EQ(unused({"arr_0", "arr_1"}, two), "");
  EXPECT_EQ(unused({"arr_0", "arr_1", "arr_2"}, two), "arr_2 is not used");
  EXPECT_EQ(unused({"in0", "in1", "out0", "dtypes"}, two), "");
  EXPECT_EQ(unused({"in0", "in1", "label"}, two), "label is not used");
  EXPECT_EQ(unused({"input_0", "in0", "in1"}, two), "input_0 is not used");  // in0 is read
  EXPECT_EQ(unused({"x", "y", "z", "w"}, two), "z, w are not used");
  EXPECT_EQ(unused({"in0", "in1@0", "in1@1"}, {.leaves = 2, .arrays = 2, .devices = 2}), "");
  EXPECT_EQ(unused({"in0", "in1", "in1@1"}, two), "in1@1 is not used");
  EXPECT_EQ(
      unused({"out0", "out1", "in0"}, {.side = TensorNames::kOutputs, .leaves = 1, .arrays = 1}),
      "out1 is not used");
  ASSERT_TRUE(WriteTensors(base, TensorNames::kOutputs, std::vector<Literal>{a, a, a}).has_value());
  const std::string folder[] = {base};
  EXPECT_EQ(TensorFiles::Open(folder)->Unused({TensorNames::kOutputs, 1, 1}),
            std::vector<std::string>{base + ": output_1, output_2 are not used"});
  const std::string arrays[] = {base + "/output_0.npy", base + "/output_1.npy"};
  EXPECT_EQ(TensorFiles::Open(arrays)->Unused({TensorNames::kOutputs, 1, 1}),
            std::vector<std::string>{arrays[1] + " is not used"});
  std::filesystem::remove_all(base);
  std::filesystem::remove(base + ".npz");
}

TEST(TensorFiles, ArraysWithOtherNamesComeInTheFilesOrder) {
  const auto path = (std::filesystem::temp_directory_path() /
                     ("hloscope_order_" + std::to_string(::getpid()) + ".npz"))
                        .string();
  const Shape shape = Shape::Array(ElementType::kF32, {2});
  const float first[] = {1, 2}, second[] = {3, 4};
  const Literal w = Literal::Of<float>(shape, first), b = Literal::Of<float>(shape, second);
  const std::pair<std::string, Literal> named[] = {{"w", w}, {"b", b}};
  ASSERT_TRUE(WriteInputs(path, named).has_value());
  const std::string paths[] = {path};
  const auto files = TensorFiles::Open(paths);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(**files->Input(0, shape), w);
  EXPECT_EQ(**files->Input(1, shape), b);
  EXPECT_FALSE(files->Input(2, shape)->has_value());
  ASSERT_EQ(files->notes().size(), 1u);
  EXPECT_TRUE(files->notes()[0].ends_with("taken in the file's order: w, b")) << files->notes()[0];
  // By the names of the parameters, where each has one; what is left comes behind.
  auto by_name = *files;
  const std::string partly[] = {"b", "c"}, twice[] = {"b", "b"}, both[] = {"b"};
  EXPECT_FALSE(by_name.NumberBy(partly));
  EXPECT_FALSE(by_name.NumberBy(twice));
  EXPECT_EQ(**by_name.Input(0, shape), w) << "the order stays";
  EXPECT_TRUE(by_name.NumberBy(both));
  EXPECT_EQ(**by_name.Input(0, shape), b);
  EXPECT_EQ(**by_name.Input(1, shape), w);
  EXPECT_TRUE(by_name.notes().empty());
  // One name that numbers an array, and nothing is guessed.
  const std::pair<std::string, Literal> mixed[] = {{"w", w}, {"in1", b}};
  ASSERT_TRUE(WriteInputs(path, mixed).has_value());
  const auto numbered = TensorFiles::Open(paths);
  ASSERT_TRUE(numbered.has_value());
  EXPECT_FALSE(numbered->Input(0, shape)->has_value());
  EXPECT_TRUE(numbered->notes().empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hloscope::dump
