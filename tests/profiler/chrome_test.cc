// Chrome traces as JAX, XProf and Perfetto write them, and what nobody should write.
#include <gtest/gtest.h>

#include <random>

#include "profiler/formats/chrome_event.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kTrace = R"({"displayTimeUnit":"ns","metadata":{"a":[1,{}]},
"traceEvents":[
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":701,"name":"process_sort_index","args":{"sort_index":701}},
{"ph":"M","pid":701,"tid":5,"name":"thread_name","args":{"name":"py\u0074hon \"x\""}},
{"ph":"X","pid":701,"tid":5,"ts":27.471,"dur":2839.7710000000002,"name":"call"},
{"ph":"X","pid":3,"tid":9,"ts":338.11099999999999,"dur":0.001,"name":"dot.4","args":{"hlo_module":"jit_f","hlo_op":"dot.4","program_id":"14","n":3,"x":2.5}},
{"ph":"B","pid":701,"tid":5,"ts":100,"name":"outer"},
{"ph":"B","pid":701,"tid":5,"ts":101,"name":"inner"},
{"ph":"E","pid":701,"tid":5,"ts":103},
{"ph":"E","pid":701,"tid":5,"ts":110},
{"ph":"i","pid":701,"tid":5,"ts":104,"name":"mark","s":"t"},
{"ph":"b","cat":"io","id":"0x1","pid":701,"tid":5,"ts":200,"name":"read"},
{"ph":"b","cat":"io","id":"0x2","pid":701,"tid":5,"ts":201,"name":"write"},
{"ph":"e","cat":"io","id":"0x1","pid":701,"tid":5,"ts":210},
{"ph":"e","cat":"io","id":"0x2","pid":701,"tid":5,"ts":220},
{"ph":"C","pid":701,"ts":1,"name":"bytes","args":{"v":1}},{}]})";

TEST(ChromeTest, EveryKindOfEventIsReadOrNamed) {
  auto profile = ReadBytes(std::string(kTrace));
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(EventsOf(**profile),
            (Texts{"python \"x\"|call|471000|2839771000", "python \"x\"|outer|73000000|10000000",
                   "python \"x\"|inner|74000000|2000000", "python \"x\"|mark|77000000|0",
                   "thread 9|dot.4|311111000|1000|jit_f(14):dot.4",
                   "async io|read|173000000|10000000", "async io|write|174000000|19000000"}));
  EXPECT_EQ(LossesOf(**profile), Texts());
  const EventStore& store = *(*profile)->store;
  ASSERT_EQ(store.counters().size(), 1u);
  EXPECT_EQ(store.text(store.counters()[0].name), "bytes v");
  EXPECT_EQ(store.values(store.counters()[0])[0], 1.0);
  EXPECT_EQ(store.text(store.groups()[0].name), "/device:GPU:0") << "devices come first";
  EXPECT_EQ(store.lanes()[1].role, LaneRole::kStream);
  EXPECT_EQ(store.origin_ns(), 27'000);
  const std::vector<Argument> arguments = store.Arguments(EventId(4u));
  ASSERT_EQ(arguments.size(), 5u);
  EXPECT_EQ(std::get<int64_t>(arguments[3].value), 3);
  EXPECT_EQ(std::get<double>(arguments[4].value), 2.5);
}

TEST(ChromeTest, ReadsTheTimeBaseBeforeOrAfterTheEvents) {
  const std::string base = R"("baseTimeNanoseconds": 1795513813000000123)";
  const std::string events =
      R"("traceEvents":[{"ph":"X","pid":1,"tid":2,"ts":5.5,"dur":1,"name":"a"}])";
  for (const std::string& text :
       {"{" + base + "," + events + "}", "{" + events + "," + base + "\n}"}) {
    auto profile = ReadBytes(text);
    ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
    EXPECT_EQ((*profile)->store->origin_ns(), 1795513813000005123);
    EXPECT_EQ(EventsOf(**profile), Texts{"thread 2|a|500000|1000000"});
    EXPECT_EQ(LossesOf(**profile), Texts());
  }
}

TEST(ChromeTest, TimesAreExactToThePicosecond) {
  struct {
    std::string_view text;
    int64_t whole, picoseconds;
  } const cases[] = {{"0", 0, 0},
                     {"82.441999999999993", 82, 442'000},
                     {"1722345678901234.567", 1722345678901234, 567'000},
                     {"9.9999999999999995e-07", 0, 1},
                     {"-0.25", -1, 750'000},
                     {"1e3", 1000, 0},
                     {"0.9999999", 1, 0},
                     {"12.", 12, 0}};
  for (const auto& [text, whole, picoseconds] : cases) {
    auto time = ParseMicroseconds(text);
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_EQ(time->whole, whole) << text;
    EXPECT_EQ(time->picoseconds, picoseconds) << text;
  }
  for (std::string_view text :
       {"", "-", "x", "1x", "1e99", "nan", "inf", "null", "99999999999999999999"}) {
    EXPECT_FALSE(ParseMicroseconds(text).has_value()) << text;
  }
}

TEST(ChromeTest, WrongTypesAndHugeNumbersAreLosses) {
  auto profile = ReadBytes(R"([{"ph":"X","ts":"5","dur":"2","name":7,"pid":"a","tid":null},
{"ph":"X","ts":[1],"dur":1,"name":"list"},{"ph":"X","ts":1e300,"dur":1,"name":"far"},
{"ph":"X","ts":1,"dur":-3,"name":"back"},{"ph":"X","ts":9000000000000000,"dur":3,"name":"later"},
{"ph":"?","ts":1},{"ph":"XX","ts":1},{"ph":"X","name":"never"},{"ph":"E","ts":9},
{"ph":"B","ts":6,"name":"open"}])");
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(EventsOf(**profile),
            (Texts{"thread null|7|0|2000000", "thread |open|1000000|3000000"}));
  EXPECT_EQ(LossesOf(**profile),
            (Texts{"5 events with out-of-range timestamps", "2 events of unknown type",
                   "1 end events without a begin event",
                   "1 unterminated events, extended to the end of the trace"}));
}

// A begin far before the first time, and an end far after the last: no overflow, and the other
// unterminated events are kept.
TEST(ChromeTest, OneOutOfRangeTimeTakesNoOtherEvent) {
  const auto profile = ReadBytes(R"([{"ph":"B","pid":1,"tid":1,"ts":0,"name":"kept"},)"
                                 R"({"ph":"B","pid":1,"tid":2,"ts":-9000000000000,"name":"early"},)"
                                 R"({"ph":"B","pid":1,"tid":3,"ts":5,"name":"late"},)"
                                 R"({"ph":"E","pid":1,"tid":3,"ts":9000000000000},)"
                                 R"({"ph":"X","pid":1,"tid":4,"ts":7,"dur":1,"name":"last"}])");
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  const EventStore& store = *(*profile)->store;
  bool is_kept = false;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const EventId e(i);
    is_kept |= store.text(store.name(e)) == "kept" && store.duration(e) == 7'000'000;
  }
  EXPECT_TRUE(is_kept) << store.size();
}

TEST(ChromeTest, EveryCutIsNamed) {
  for (size_t size = 0; size + 1 < kTrace.size(); ++size) {
    auto profile = ReadBytes(std::string(kTrace.substr(0, size)));
    if (!profile) {
      EXPECT_EQ(profile.error().error_class, ErrorClass::kInput);
    } else {
      EXPECT_FALSE((*profile)->losses.empty()) << size;
    }
  }
}

TEST(ChromeTest, MutatedAndDeepTextsKillNothing) {
  std::mt19937_64 random(3);
  constexpr std::string_view kLikely = "{}[]\",:\\0e-.u";
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(kTrace);
    for (uint64_t k = 0; k <= random() % 4; ++k) {
      bytes[random() % bytes.size()] = kLikely[random() % kLikely.size()];
    }
    auto profile = ReadBytes(bytes);
    if (!profile) continue;
    const EventStore& store = *(*profile)->store;
    for (uint32_t i = 0; i < store.size(); ++i) store.Arguments(EventId(i));
  }
  EXPECT_FALSE(ReadBytes("[" + std::string(1 << 20, '[')).has_value());
  EXPECT_FALSE(ReadBytes("{\"a\":" + std::string(1 << 20, '{')).has_value());
  EXPECT_FALSE(ReadBytes("{\"traceEvents\": 5}").has_value());
  EXPECT_TRUE(ReadBytes("{\"traceEvents\": []}").has_value());
}

}  // namespace
}  // namespace hloscope::profiler
