// Exports of Nsight Systems: names, lanes, launches, graphs, and databases that are something else.
#include <gtest/gtest.h>

#include "tests/profiler/nsight_fixture.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

TEST(NsightTest, KernelsCopiesCallsAndRanges) {
  auto profile = ReadBytes(NsightExport(1));
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(
      EventsOf(**profile),
      (Texts{"main 11: NVTX|Thunk:#hlo_op=dot.1#|-800000|100000", "main 11: NVTX|a mark|0|0",
             "main 11: NVTX|XlaModule:#hlo_module=jit_f,program_id=7#|100000|900000",
             "main 11: NVTX|Thunk:#hlo_op=loop_add_fusion.3#|110000|90000",
             "main 11: CUDA API|cuLaunchKernel|120000|10000",
             "Stream #7|loop_add_fusion_3|600000|120000|jit_f(7):loop_add_fusion.3",
             "Stream #7|gemm_kernel|1999100000|100000|(-1):dot.1",
             "Stream #8|MemcpyD2H|800000|50000", "Stream #7 of context 2|Memset|900000|10000"}));
  EXPECT_EQ(LossesOf(**profile), Texts());
  const EventStore& store = *(*profile)->store;
  EXPECT_EQ(store.origin_ns(), 900);
  EXPECT_EQ(store.text(store.groups()[0].name), "/device:GPU:0");
  EXPECT_EQ(store.text(store.groups()[1].name), "python 41984");
  EXPECT_EQ(store.groups()[0].facts.size(), 6u);
  bool has_name = false;
  for (uint32_t i = 0; i < store.size(); ++i) {
    for (const Argument& argument : store.Arguments(EventId(i))) {
      const auto* text = std::get_if<std::string>(&argument.value);
      has_name |= argument.name == "shortName" && text != nullptr && *text == "gemm_kernel";
    }
  }
  EXPECT_TRUE(has_name);
}

TEST(NsightTest, OtherTablesAndOtherDatabasesAreNamed) {
  auto profile = ReadBytes(NsightExport(
      1,
      "CREATE TABLE GPU_METRICS (timestamp INT, value INT); INSERT INTO GPU_METRICS VALUES (1, 2);"
      "INSERT INTO NVTX_EVENTS VALUES (5,NULL,60,'open',704374636555,NULL,NULL,0);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (9,1,0,1,7,0,704374636544,0,64);"));
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(LossesOf(**profile),
            (Texts{"1 unterminated ranges, shown as instants",
                   "1 events with out-of-range timestamps", "1 tables that are not read"}));
  auto other = ReadBytes(
      NsightExport(0,
                   "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE "
                   "CUDA_GRAPH_NODE_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE "
                   "CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET;"));
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("not an Nsight Systems export"), std::string::npos);
}

// Newer exports have columns of such names: only a virtual table is none to be read.
TEST(NsightTest, TablesWithColumnsCalledVirtualAreRead) {
  const auto plain = ReadBytes(NsightExport(1));
  const auto profile = ReadBytes(NsightExport(
      1,
      "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN virtualAddress INT;"
      "CREATE TABLE GPU_METRICS (virtualAddress INT); INSERT INTO GPU_METRICS VALUES (1);"
      "CREATE TABLE \"odd \"\"name\" (a); INSERT INTO \"odd \"\"name\" VALUES (1);"
      "CREATE TABLE EMPTY_EVENTS (a);"));
  ASSERT_TRUE(plain.has_value() && profile.has_value());
  EXPECT_EQ((*profile)->store->size(), (*plain)->store->size());
  EXPECT_EQ(LossesOf(**profile), Texts{"2 tables that are not read"});
  EXPECT_EQ((*profile)->losses.back().first, "GPU_METRICS, odd \"name");
}

// A view in the place of a table would run what the file says.
TEST(NsightTest, ViewsAreNotRead) {
  auto profile = ReadBytes(NsightExport(
      1,
      "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS WITH "
      "RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT * FROM n;"));
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ((*profile)->store->size(), 8u);
}

}  // namespace
}  // namespace hloscope::profiler
