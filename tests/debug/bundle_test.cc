// Bundles as files: what is read, what is refused, where they are unpacked to; and redaction.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "core/debug/bundle/bundle_report.h"
#include "core/debug/bundle/bundle_values.h"
#include "core/debug/bundle/check.h"
#include "core/debug/bundle/document.h"
#include "core/debug/bundle/payload.h"
#include "core/debug/bundle/redact_code.h"
#include "core/debug/bundle/redact_module.h"
#include "core/debug/bundle/redactor.h"
#include "core/debug/bundle/report_values.h"
#include "core/debug/bundle/unpack.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/hlo/text/text.h"
#include "tests/debug/hostile_bundles.h"

namespace hloscope::debug {
namespace {

namespace fs = std::filesystem;
using dump::BundleFile;
using dump::BundlePart;

// Inputs that were saved and cannot be read again were left out without a word.
TEST(BundleValues, InputsThatCannotBeReadAgainAreNamed) {
  RunReport report;
  report.arguments = {hlo::Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {2}),
                                              std::vector<float>{1, 2})};
  RunSpec request;
  const auto missing =
      CollectValues(report, request, ValuePolicy::kAll, {.path = "/nowhere/inputs.npz"});
  ASSERT_TRUE(missing.has_value());
  EXPECT_TRUE(missing->parts.empty());
  ASSERT_EQ(missing->notes.size(), 1u);
  EXPECT_NE(missing->notes[0].find("inputs"), std::string::npos) << missing->notes[0];
  EXPECT_NE(missing->notes[0].find("no such file"), std::string::npos) << missing->notes[0];
  // A file larger than the limit is one of those.
  const fs::path path = fs::temp_directory_path() / ("saved_" + std::to_string(getpid()));
  std::ofstream(path) << std::string(100, 'x');
  request.limits.input_file_bytes = 10;
  const auto large = CollectValues(report, request, ValuePolicy::kAll, {.path = path.string()});
  fs::remove(path);
  ASSERT_TRUE(large.has_value());
  EXPECT_TRUE(large->parts.empty());
  ASSERT_EQ(large->notes.size(), 1u);
  EXPECT_NE(large->notes[0].find("input-file"), std::string::npos) << large->notes[0];
}

class BundleTest : public testing::Test {
 protected:
  BundleTest()
      : folder_(fs::temp_directory_path() / ("hloscope_bundles_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~BundleTest() override { fs::remove_all(folder_); }

  static Result<BundleFile> Open(std::string bytes) {
    return BundleFile::Open(FileView::FromBytes("b.hlob", std::move(bytes)));
  }

  // Everything that opening a bundle can come to: reading all parts, unpacking, the manifest.
  // Returns the message of the first refusal, empty where there is none.
  std::string Use(const std::string& bytes) {
    const fs::path into = folder_ / "into";
    const auto bundle = Open(bytes);
    std::string refused = bundle ? "" : bundle.error().message;
    if (bundle) {
      for (const BundlePart part : bundle->Parts()) {
        if (const auto read = bundle->Read(part); !read) refused = read.error().message;
      }
      if (const auto manifest = ManifestFromJson(bundle->manifest()); !manifest) {
        refused = manifest.error().message;
      }
      if (const auto written = UnpackBundle(*bundle, into.string()); !written) {
        refused = written.error().message;
      }
    }
    // Nothing but parts of bundles, and nothing next to the folder.
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(entry.path() == into || dump::BundlePartFromFile(name)) << entry.path();
      EXPECT_TRUE(entry.path() == into || refused.empty()) << refused << name;
    }
    fs::remove_all(into);
    return refused;
  }

  fs::path folder_;
};

TEST_F(BundleTest, AGoodOneIsRead) {
  const auto bundle = Open(ZipOf(GoodParts()));
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  EXPECT_EQ(bundle->version(), dump::kBundleVersion);
  EXPECT_TRUE(*bundle->IsUnchanged(BundlePart::kModule));
  const auto manifest = ManifestFromJson(bundle->manifest());
  ASSERT_TRUE(manifest.has_value()) << manifest.error().ToString();
  EXPECT_EQ(manifest->recorded.status, RunStatus::kRan);
  EXPECT_EQ(Use(ZipOf(GoodParts())), "");
}

TEST_F(BundleTest, EveryVersionIsRead) {
  for (int64_t version = 1; version <= dump::kBundleVersion; ++version) {
    auto parts = GoodParts();
    std::string& manifest = parts.front().second;
    const std::string newest = "\"version\":" + std::to_string(dump::kBundleVersion);
    manifest.replace(manifest.find(newest), newest.size(),
                     "\"version\":" + std::to_string(version));
    const auto bundle = Open(ZipOf(parts));
    ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
    EXPECT_EQ(bundle->version(), version);
  }
}

TEST_F(BundleTest, AttacksAreRefusedByName) {
  const auto attacks = Attacks();
  EXPECT_GE(attacks.size(), 70u);
  for (const HostileBundle& attack : attacks) {
    const std::string refused = Use(attack.bytes);
    EXPECT_NE(refused, "") << attack.name;
    EXPECT_NE(refused.find(attack.reason), std::string::npos) << attack.name << ": " << refused;
  }
}

TEST_F(BundleTest, EveryCutIsRefused) {
  const std::string good = ZipOf(GoodParts());
  for (size_t size = 0; size < good.size(); size += 7) {
    EXPECT_NE(Use(good.substr(0, size)), "") << size;
  }
}

// Whatever a mutation makes is read whole, or refused with a reason.
TEST_F(BundleTest, MutationsDoNoHarm) {
  const std::string good = ZipOf(GoodParts());
  std::mt19937_64 random(7);
  for (int k = 0; k < 300; ++k) {
    std::string bad = good;
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, 1 + random() % 20);
          break;
        default:
          bad.insert(at, bad.substr(random() % bad.size(), random() % 60));
      }
      if (bad.empty()) bad = "P";
    }
    Use(bad);
  }
}

TEST_F(BundleTest, UnpacksOnlyIntoANewFolder) {
  const auto bundle = Open(ZipOf(GoodParts()));
  ASSERT_TRUE(bundle.has_value());
  const fs::path full = folder_ / "full", link = folder_ / "link", empty = folder_ / "empty";
  fs::create_directories(full);
  std::ofstream(full / "mine") << "kept";
  fs::create_directories(empty);
  fs::create_symlink(empty, link);
  EXPECT_FALSE(UnpackBundle(*bundle, full.string()).has_value());
  EXPECT_FALSE(UnpackBundle(*bundle, link.string()).has_value());
  EXPECT_FALSE(UnpackBundle(*bundle, (folder_ / "no" / "such").string()).has_value());
  EXPECT_TRUE(fs::is_empty(empty));
  EXPECT_TRUE(UnpackBundle(*bundle, empty.string()).has_value());
}

RunSpec NothingGiven() {
  RunSpec own;
  own.test.name.clear();
  return own;
}

TEST_F(BundleTest, ChecksRunsThatDoNotFail) {
  auto parts = GoodParts();
  const auto check = CheckBundle(*Open(ZipOf(parts)), NothingGiven());
  ASSERT_TRUE(check.has_value()) << check.error().ToString();
  // The results' hash was never recorded.
  EXPECT_EQ(check->status, CheckStatus::kNotReproduced);
  ASSERT_TRUE(check->report.has_value());
  EXPECT_EQ(check->report->status, RunStatus::kRan);
}

// Each run may take its deadline.
TEST(LongestReplay, CountsTheRuns) {
  using std::chrono::seconds;
  RunSpec run;
  run.test.name = "interpreter";
  run.budget.seconds = 100;
  const auto started = LongestReplay(run, 0) - seconds(100);
  EXPECT_EQ(LongestReplay(run, 2) - started, seconds(300));
  EXPECT_EQ(LongestReplay(run, 3) - started, seconds(400));
}

TEST_F(BundleTest, NamesAMissingPlatform) {
  auto parts = GoodParts();
  std::string& manifest = parts.front().second;
  manifest.replace(manifest.find("\"interpreter\""), 13, "\"quantum\"");
  const auto check = CheckBundle(*Open(ZipOf(parts)), NothingGiven());
  ASSERT_TRUE(check.has_value());
  EXPECT_EQ(check->status, CheckStatus::kCannot);
  ASSERT_EQ(check->missing.size(), 1u);
  EXPECT_NE(check->missing.front().find("platform quantum"), std::string::npos);
}

// Members that no row of run_options.def names are never taken.
TEST(UntrustedRequest, TakesTheRowsAlone) {
  RunSpec recorded;
  recorded.inputs.seed = 7;
  recorded.test.xla_flags = {{"xla_cpu_enable_fast_math", "true"}};
  recorded.reference.python = recorded.test.python = recorded.load.module_file = "/evil";
  recorded.inputs.literals_file = recorded.load.choices = "/evil";
  recorded.inputs.files = recorded.compare.expect = recorded.inputs.infeed = {"/evil"};
  recorded.execution.environment = recorded.notes = {"/evil"};
  recorded.load.object_cache = true;
  const UntrustedRequest taken = RequestFromUntrusted(recorded, NothingGiven());
  EXPECT_TRUE(taken.refused.empty());
  const RunSpec& request = taken.request;
  EXPECT_EQ(request.inputs.seed, 7u);
  EXPECT_EQ(request.test.xla_flags, recorded.test.xla_flags);
  for (const std::string* text :
       {&request.reference.python, &request.test.python, &request.load.module_file,
        &request.load.choices, &request.inputs.literals_file}) {
    EXPECT_EQ(*text, "");
  }
  EXPECT_TRUE(request.inputs.files.empty() && request.inputs.infeed.empty());
  EXPECT_TRUE(request.compare.expect.empty());
  EXPECT_TRUE(request.execution.environment.empty() && request.notes.empty());
  EXPECT_FALSE(request.load.object_cache);
}

TEST(UntrustedRequest, RefusesByName) {
  RunSpec recorded;
  recorded.test.name = recorded.reference.name = "pjrt:FILE.so";
  recorded.load.gpu_target = "../evil";
  recorded.execution.verify = false;
  recorded.test.xla_flags = {{"xla_cpu_max_isa", "a/b"}, {"xla_dump_to", "x"}, {"xla_other", "1"}};
  recorded.reference.xla_flags = {{"xla_backend_extra_options", "a"}};
  const UntrustedRequest taken = RequestFromUntrusted(recorded, NothingGiven());
  std::vector<std::string> names;
  for (const RefusedField& field : taken.refused) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"platform", "reference_platform", "target",
                                             "xla_flags.xla_cpu_max_isa", "xla_flags.xla_other",
                                             "reference_flags.xla_backend_extra_options"}));
  EXPECT_TRUE(taken.request.execution.verify);
  EXPECT_EQ(taken.request.test.name, RunSpec().test.name);
  EXPECT_EQ(taken.request.reference.name + taken.request.load.gpu_target, "");
  EXPECT_TRUE(taken.request.test.xla_flags.empty() && taken.request.reference.xla_flags.empty());
  ASSERT_EQ(taken.notes.size(), 1u);
  EXPECT_NE(taken.notes[0].find("xla_dump_to"), std::string::npos);
}

TEST(UntrustedRequest, TakesTheSmallerAmount) {
  RunSpec own = NothingGiven(), recorded;
  own.limits.run_deadline_seconds = 20;
  recorded.budget.seconds = 1e9;
  recorded.budget.memory_bytes = INT64_MAX;
  recorded.budget.threads = 4096;
  RunSpec taken = RequestFromUntrusted(recorded, own).request;
  EXPECT_EQ(taken.budget.seconds, 20.0);
  EXPECT_GT(taken.budget.memory_bytes, 0);
  EXPECT_LT(taken.budget.memory_bytes, INT64_MAX);
  EXPECT_LT(taken.budget.threads, 4096);
  own.budget.seconds = 3;
  own.budget.memory_bytes = 1 << 20;
  own.budget.threads = 1;
  taken = RequestFromUntrusted(recorded, own).request;
  EXPECT_EQ(taken.budget.seconds, 3.0);
  EXPECT_EQ(taken.budget.memory_bytes, 1 << 20);
  EXPECT_EQ(taken.budget.threads, 1);
  recorded.budget.seconds = 0.5;
  recorded.budget.memory_bytes = 0;
  taken = RequestFromUntrusted(recorded, own).request;
  EXPECT_EQ(taken.budget.seconds, 0.5);
  EXPECT_EQ(taken.budget.memory_bytes, 1 << 20);
}

TEST(Manifest, ReadsWhatItWrites) {
  BundleManifest manifest;
  manifest.tool = "hloscope 1";
  manifest.values = ValuePolicy::kStatistics;
  manifest.request.test.name = "xla-cpu";
  manifest.request.reference.name = "interpreter";
  manifest.request.inputs.seed = UINT64_MAX;
  manifest.request.compare.bounds.relative = 0.125;
  manifest.request.execution.verify = false;
  manifest.request.load.fill_elided = 3;
  manifest.request.compare.find = NonFiniteKind::kInfinity;
  manifest.request.test.xla_flags = {{"xla_cpu_enable_fast_math", "true"}, {"xla_x", "a; b"}};
  manifest.recorded.status = RunStatus::kDiffers;
  manifest.recorded.failure = Failure{FailureKind::kDiffers, {"float gross"}, "it differs"};
  manifest.recorded.reduced_inputs_generated = false;
  manifest.redacted = {{"path", 3}};
  const std::string json = ManifestJson(manifest, {});
  const auto read = ManifestFromJson(json);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(ManifestJson(*read, {}), json);
  EXPECT_EQ(read->recorded.reduced_inputs_generated, std::optional(false));
  EXPECT_EQ(RunOptionsText(read->request),
            "--platform xla-cpu --reference_platform interpreter --seed 18446744073709551615 "
            "--fill-elided 3 --rel_error_bound 0.125 --find inf --no-verify "
            "--xla_cpu_enable_fast_math=true '--xla_x=a; b'");
}

// Deadlocks were recorded as signals once.
TEST(Manifest, KnowsDeadlocksOfOlderBundles) {
  BundleManifest manifest;
  manifest.recorded.status = RunStatus::kDied;
  manifest.recorded.failure = Failure{FailureKind::kSignal, {"deadlock: device # waits"}, "d"};
  const auto read = ManifestFromJson(ManifestJson(manifest, {}));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(read->recorded.failure->kind, FailureKind::kDeadlock);
  EXPECT_EQ(ErrorKindOfRecorded(read->recorded), "deadlock");
  manifest.recorded.failure.reset();
  EXPECT_EQ(ErrorKindOfRecorded(manifest.recorded), "cancelled");
}

TEST(Manifest, RefusesValuesOutOfRange) {
  const std::string good = ManifestJson({}, {});
  const std::pair<std::string, std::string> edits[] = {
      {"\"seed\":0", "\"seed\":-1"},
      {"\"threads\":0", "\"threads\":99999"},
      {"\"threads\":0", "\"threads\":1e3"},
      {"\"iterations\":1", "\"iterations\":0"},
      {"\"platform\":", "\"platform\":7,\"a\":"},
      {"\"status\":\"error\"", "\"status\":\"fine\""},
      {"\"xla_flags\":{", "\"xla_flags\":{\"LD_PRELOAD\":\"x\""},
      {"\"values\":\"shapes\"", "\"values\":\"most\""}};
  for (const auto& [from, to] : edits) {
    std::string bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(ManifestFromJson(bad).has_value()) << to;
  }
}

Redactor MakeRedactor() {
  return Redactor({.users = {"alice"}, .hosts = {"trainbox.acme.corp"}, .values = {"S3cretValue"}});
}

TEST(Redaction, KeepsBaseNamesAndNumbersFolders) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(redactor.Text("at /a/b/model.py:12 and /a/b/train.py, not /c/d/model.py"),
            "at <path1>/model.py:12 and <path1>/train.py, not <path2>/model.py");
  EXPECT_EQ(redactor.Text("C:\\Users\\bob\\m.py"), "<path3>/m.py");
  EXPECT_EQ(redactor.Path("src/model.py"), "<path4>/model.py");
  EXPECT_EQ(redactor.Text("file:///a/b/model.py"), "<path5>/model.py");
  EXPECT_EQ(redactor.Path("model.py"), "model.py");
}

TEST(Redaction, LeavesWhatSaysNothing) {
  Redactor redactor = MakeRedactor();
  for (const std::string_view text :
       {"jit(step)/jit(main)/dot_general", "f32[2,3]{1,0} a/b", "fusion.12 is 3.5 / 4",
        "https://github.com/openxla/xla/issues/1", "<path1>/model.py", "jax-cpu-pjrt 0.11.2",
        "--xla_cpu_enable_fast_math=true", "/*index=5*/", "x: f32[2] -> f32[2]",
        "result {0} differs in 1 of 3 elements: 9 at [2], expected 10", "_ZN3xla3cpu7RuntimeE"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
  EXPECT_TRUE(redactor.Counts().empty());
}

TEST(Redaction, JsonEscapesWhatMovesACursorOrReordersText) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(redactor.Json("{\"a\":\"\xC2\x9B[2J\xE2\x80\xAE\"}"), R"({"a":"\u009b[2J\u202e"})");
}

TEST(Redaction, TakesOutNamesAndTokens) {
  Redactor redactor = MakeRedactor();
  redactor.Learn("/home/carol/x.py mail dave@box7");
  EXPECT_EQ(redactor.Text("Alice, carol_model, dave and box7; S3cretValue"),
            "<user1>, <user2>_model, <user3> and <host1>; <environment1>");
  EXPECT_EQ(redactor.Text("TOKEN=abc123 PATH_X=/q/w/e"), "TOKEN=<token1> PATH_X=<environment2>");
  EXPECT_EQ(redactor.Name("alice_add.3"), "redacted_user1_add.3");
  EXPECT_EQ(redactor.Json(R"({"a":["/x/y/z.py",3],"/x/y/k.py":null})"),
            R"({"a":["<path1>/z.py",3],"<path1>/k.py":null})");
}

TEST(Redaction, TakesOutWhatIsNamedASecret) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(
      redactor.Json(R"({"hostname":"bignode","api_key":"k-1","pass":"algsimp","user":"zed"})"),
      R"({"hostname":"<host1>","api_key":"<token1>","pass":"algsimp","user":"<user1>"})");
  EXPECT_EQ(redactor.Text("550e8400-e29b-41d4-a716-446655440000 fe80::1ff:fe23:4567:890a"),
            "<token2> <host2>");
  EXPECT_EQ(redactor.Text("xS3cretValuey /host:CPU"), "x<environment1>y /host:CPU");
  EXPECT_EQ(redactor.Text("d41d8cd98f00b204e9800998ecf8427e"), "<token3>");
  EXPECT_EQ(redactor.Text(R"({"a":"{\"p\":\"/mnt/x/q\"}"})"), R"({"a":"{\"p\":\"<path1>\"}"})");
}

// What was left of a secret where a rule took another part of it for the whole.
TEST(Redaction, MergesWhatOverlaps) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(redactor.Text("Authorization: Bearer abc.def.ghi"), "Authorization: <token1>");
  EXPECT_EQ(redactor.Text(R"({\"Authorization\": \"Bearer q8w7\"} x)"),
            R"({\"Authorization\": \"<token2>\"} x)");
  EXPECT_EQ(redactor.Text("mail alice+ml@trainbox.acme.corp now"), "mail <host1> now");
  EXPECT_EQ(redactor.Text("https://alice:pw@h.acme.de/x?token=abc y"), "<path1> y");
  EXPECT_EQ(redactor.Text("Cookie: a=b; session=c"), "Cookie: <token3>");
  EXPECT_EQ(redactor.Text("jit(f)//home/alice/k"), "jit(f)/<path2>");
  // Stand-ins stay as they are.
  EXPECT_EQ(redactor.Text("token=<token1> at <path2>/x.py"), "token=<token1> at <path2>/x.py");
}

TEST(Redaction, FindsSecretsByTheirNames) {
  for (const std::string_view text : {"token=S",
                                      "\"token\": \"S\"",
                                      "pwd: S",
                                      "--password S",
                                      "Command '['x', '--password', 'S', 'y']' returned",
                                      "[\"--secret-key\", \"S\"]",
                                      "{\"text\":\"['--password', 'S']\"}",
                                      "\"[\\\"--password\\\", \\\"S\\\"]\"",
                                      "run --hf-token 'S' x",
                                      "sessionid=S",
                                      "AccountKey=S;",
                                      "password%3DS",
                                      "client_secret = S",
                                      "mysql -pS",
                                      "key=S",
                                      "Basic S",
                                      "/x?sig=S",
                                      "password%20=%20S",
                                      "{%22password%22:%20%22S%22}",
                                      "--password%20S",
                                      "password=b'S'",
                                      "password=rb\"S\"",
                                      "password=a,S",
                                      "password=a\\ S",
                                      "password==S",
                                      "--password \"Zk81 S\"",
                                      "<password>S</password>",
                                      "<ns:token>S</ns:token>",
                                      "&lt;password&gt;S&lt;/password&gt;"}) {
    Redactor redactor = MakeRedactor();
    std::string planted(text);
    planted.replace(planted.find('S'), 1, "q1w2e3r4t5");
    EXPECT_EQ(redactor.Text(planted).find("q1w2e3"), std::string::npos) << planted;
    EXPECT_TRUE(redactor.HasSecret(planted)) << planted;
  }
  Redactor redactor = MakeRedactor();
  for (const std::string_view text :
       {"rng_key=threefry", "num_tokens=4096", "tokens: 12", "\"pass\":\"algsimp\"",
        "mode == token", "cuDNN 9.1.0.70", "127.0.0.1", "model.py:1234", "token::Kind",
        "Conv2dBatchNorm3dRelu6Pool2x2", "sort_key(x)"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
}

TEST(Redaction, FindsSecretsByTheirForm) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(redactor.Text("sshpass -p gT3sg6aZwf ssh h; curl -u admin:yvjyB5I3O8"),
            "sshpass -p <token1> ssh h; curl -u <token2>");
  EXPECT_EQ(redactor.Text("SKb282e2a7c91a5a97a327707c2822009b and passwd bCnzY1S5tX"),
            "<token3> and passwd <token4>");
  EXPECT_EQ(redactor.Text(R"(\u0070assword\u003djWYmk8jo3n %2Fhome%2Fjane%2Fx)"),
            R"(\u0070assword\u003d<token5> <path1>)");
  EXPECT_EQ(redactor.Text("263-82-8742, +1 (415) 555-3462 or 4145 6595 6899 1369."),
            "<person1>, <person2> or <person3>.");
  for (const std::string_view text :
       {"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage3_warpsize2x2x1_ffma",
        "warpsize2x2x1tensor16x8x8", "__xla_test$$SwapTupleU32S16ToS16U32",
        "batch_norm@functional.py", "2024-01-02 12:30", "4145 6595 6899 1360", "1234567890123456",
        "Transformer/Layer12/MultiHeadAttention3/SelfAttention0/dot_general", "token after-all.3",
        "--abs_error_bound 0.001 -p 8080", "100%: 3% of 25%"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
}

TEST(Redaction, LeavesNamesThatTensorFlowGenerates) {
  Redactor redactor = MakeRedactor();
  constexpr std::string_view kCompiled =
      "__XlaMustCompile_true_config_proto_13561319589895757934_executor_type_11160318154034397263_";
  for (const std::string_view name : {"a_inference_loop_114", "__inference__wrapped_model_4321",
                                      "__inference_f_123", "a_inference_TrainStepWithClip_12345"}) {
    for (const std::string& text : {std::string(name) + std::string(kCompiled),
                                    std::string(name) + std::string(kCompiled) + ".12"}) {
      EXPECT_EQ(redactor.Text("module " + text + " here"), "module " + text + " here");
    }
  }
  for (const std::string_view text :
       {"cluster_0__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_1"
        "__XlaNumResourceArgs_0_.15",
        "cluster_12345678901234567890_f15n_0__XlaCompiledKernel_true__XlaNumConstantArgs_1"
        "__XlaNumResourceArgs_0_.15"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
  // What looks like a token in such a name still is one.
  const std::string secret = "wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY1x9Qz";
  EXPECT_FALSE(
      redactor.Text("a_inference_" + secret + "_12" + std::string(kCompiled)).contains(secret));
}

TEST(Redaction, LeavesNamesOfPasses) {
  Redactor redactor = MakeRedactor();
  for (const std::string_view text :
       {"pass float-normalization-s4 of HLO_passes_through_layout_assignment changed the numbers",
        "pass=cudnn-fused-convolution-rewriter-v2", "pass: float-normalization-f8e5m2",
        "pass convolution_4d_expander", "--pass conv-fp8-fallback", "-p float32 -p 8080",
        R"({"pass":"float-normalization-bf16","pipeline":"simplification"})"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
  EXPECT_EQ(redactor.Json(R"({"pass":"triangular-solve-rewriter-f32"})"),
            R"({"pass":"triangular-solve-rewriter-f32"})");
  EXPECT_TRUE(redactor.Counts().empty());
  EXPECT_EQ(redactor.Json(R"({"pass":"hunter4horse","password":"float-normalization-s4"})"),
            R"({"pass":"<token1>","password":"<token2>"})");
  EXPECT_EQ(redactor.Text("pass float-normalization-a1b2c3, pass=s4-f32, -p hunter4"),
            "pass <token3>, pass=s4-f32, -p <token4>");
}

TEST(Redaction, FindsMachines) {
  for (const std::string_view text :
       {"at 100.64.3.7", "8.8.4.4:53", "trainer9.acme.de:2222", "gpu3.example.fr",
        R"({"cluster":{"worker":["n1.acme.jp:22"]}})", "coordinator=node1", "see 93.184.216.34."}) {
    Redactor redactor = MakeRedactor();
    EXPECT_NE(redactor.Text(text).find("<host1>"), std::string::npos) << redactor.Text(text);
  }
}

TEST(Payload, IsKeptWholeOrReplacedWhole) {
  const Redactor redactor = MakeRedactor();
  // "{"p":"/home/alice/k.py"}" and "ML\xefR" with a path, in base 64.
  for (const std::string_view secret :
       {"/home/alice/kern.py", R"({"custom_call_config":{"body":"see /home/alice/kern.py"}})",
        R"({"a":{"password":"x1y2"}})", "a\x01\x02/home/alice/kern.py\x00"}) {
    EXPECT_TRUE(PayloadHasSecret(secret, redactor)) << secret;
  }
  for (
      const std::string_view plain :
      {R"({"operation_queue_id":"0","wait_on_operation_queues":[],"force_earliest_schedule":false})",
       R"({"fusion_backend_config":{"kind":"__triton_gemm","triton_gemm_config":{"block_m":"64"}}})",
       "{devices=[2,1]<=[2]}", ""}) {
    EXPECT_FALSE(PayloadHasSecret(plain, redactor)) << plain;
  }
  EXPECT_EQ(PayloadStandIn("abc"),
            "<payload ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3 bytes>");
  Redactor other = MakeRedactor();
  EXPECT_EQ(other.Text(PayloadStandIn("abc")), PayloadStandIn("abc"));
}

TEST(Payload, OfAModuleIsNeverEdited) {
  constexpr std::string_view kText =
      R"(HloModule m, frontend_attributes={mine="x",xla.sdy.meshes="{mesh = #sdy.mesh<[\"a\"=2]>}"}

ENTRY %main (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0), metadata={op_name="jit(step)/team/x"}
  %a = f32[2]{0} custom-call(%x), custom_call_target="A", backend_config="k:1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef"
  ROOT %b = f32[2]{0} custom-call(%a), custom_call_target="B", backend_config={"path":"/home/alice/a.json","n":7}
}
)";
  const hlo::ParseResult parsed = hlo::ParseText(kText);
  ASSERT_TRUE(parsed.ok());
  Redactor redactor = MakeRedactor();
  const auto redacted = RedactModule(*parsed.module, redactor, {}, {});
  ASSERT_TRUE(redacted.has_value()) << redacted.error().ToString();
  const std::string& text = redacted->text;
  EXPECT_NE(text.find(PayloadStandIn(R"({"path":"/home/alice/a.json","n":7})")), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(xla.sdy.meshes={mesh = #sdy.mesh<["a"=2]>})"), std::string::npos) << text;
  EXPECT_EQ(text.find("mine="), std::string::npos) << text;
  EXPECT_NE(text.find("op_name=\"x\""), std::string::npos) << text;
  ASSERT_EQ(redacted->notes.size(), 2u);
  EXPECT_NE(redacted->notes[0].find("cannot replay: a, b"), std::string::npos)
      << redacted->notes[0];
  const auto all = RedactModule(*parsed.module, redactor, {.text = FreeText::kAll}, {});
  EXPECT_NE(all->text.find("mine=\"x\""), std::string::npos) << all->text;
  EXPECT_NE(all->text.find("jit(step)/team/x"), std::string::npos) << all->text;
}

TEST(Code, KeepsLinesAndNames) {
  Redactor redactor = MakeRedactor();
  EXPECT_EQ(RedactCode("//\n// Generated by LLVM NVPTX Back-End\n.file 1 \"/home/alice/a.py\"\n"
                       "ret; // see alice\n/* a\n b */.entry alice_k()\n",
                       "//", FreeText::kNeeded, redactor),
            "//\n// Generated by LLVM NVPTX Back-End\n.file 1 \"<path1>/a.py\"\n"
            "ret; \n\n.entry redacted_user1_k()\n");
}

TEST(ReportValues, KeepsWhatHasARow) {
  const std::string json =
      R"({"status":"differs","outputs":[{"index":[1],"shape":"f32[3]","mismatched":12345,)"
      R"("max_abs_error":0.123456,"max_ulp":1067282596,"first_mismatch":{"index":[2],"actual":"0.123456","expected":"0"}}],)"
      R"("walk":{"curve":[{"max_rel_error":"inf","executions":7}]},"kernels":{"slice":[{"line":3,"values":"%f3 = 0.123456"}],"twin_difference":"0.123456"},)"
      R"("mine":0.123456,"xla_flags":{"xla_a":"0.5"},"bounds":{"f32":{"abs":1e-05}},"error":"element 0.123456 of [123456,2] at 0x3dfcd680, 3.10.12","verdict":"result {0} differs in 1 of 3 elements: 0.123456 at [2], expected 0; confirmed"})";
  EXPECT_EQ(
      WithAllowedFields(json, ValuePolicy::kShapes),
      R"({"status":"differs","outputs":[{"index":[1],"shape":"f32[3]","mismatched":12345,)"
      R"("max_abs_error":0.1,"max_ulp":1000000000,"first_mismatch":{"index":[2]}}],)"
      R"("walk":{"curve":[{"max_rel_error":"inf","executions":7}]},"kernels":{"slice":[{"line":3}]},)"
      R"("xla_flags":{"xla_a":"0.5"},"bounds":{"f32":{"abs":1e-05}},"error":"element about 0.1 of [123456,2] at <value>, 3.10.12","verdict":"result {0} differs in 1 of 3 elements; confirmed"})");
  const std::string all = WithAllowedFields(json, ValuePolicy::kAll);
  EXPECT_NE(all.find("\"actual\":\"0.123456\""), std::string::npos) << all;
  EXPECT_EQ(all.find("mine"), std::string::npos) << all;
}

// Two numbers that are rounded to the same one are not said to be it.
TEST(ReportValues, ARoundedNumberSaysSoOnce) {
  const std::string once = WithoutElements("value was 0.1 and became -0.125; largest error 0.096");
  EXPECT_EQ(once, "value was about 0.1 and became about -0.1; largest error about 0.1");
  EXPECT_EQ(WithoutElements(once), once);
  EXPECT_EQ(WithoutElements("in 3.5 s, 7 of 8"), "in 3.5 s, 7 of 8");
  EXPECT_EQ(WithoutElements("it became 1e999"), "it became <value>");
  EXPECT_EQ(WithoutElements("needs CUDA 12.9, of 0.125"), "needs CUDA 12.9, of about 0.1");
}

// Of a scalar as of any other result.
TEST(ReportValues, TheLargestNumbersAreNotRoundedToNothing) {
  EXPECT_EQ(Magnitude(1.79e308), 1e308);
  EXPECT_EQ(Magnitude(-1.79e308), -1e308);
  EXPECT_EQ(Magnitude(0.0951), 0.1);
}

TEST(ReportValues, TheOneElementOfAScalarIsHiddenToo) {
  EXPECT_EQ(WithoutElements("result {8} differs in 1 of 1 element: 1975 at [], expected 1974"),
            "result {8} differs in 1 of 1 element");
  EXPECT_EQ(WithoutElements("2 of 3 results differ; result {0} differs in 1 of 1 element: 7 at [], "
                            "expected 8; the reduced module fails so too"),
            "2 of 3 results differ; result {0} differs in 1 of 1 element; the reduced module fails "
            "so too");
}

TEST(Redaction, AModuleStillMeansTheSame) {
  constexpr std::string_view kText = R"(HloModule alice_step

FileNames
1 "/home/alice/train.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY %main (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0), metadata={op_name="x" source_file="/home/alice/train.py" source_line=3 stack_frame_id=1}
  %alice = f32[2]{0} constant({0.1, nan})
  %redacted_user1 = f32[2]{0} add(%x, %alice), backend_config={"file":"/home/alice/a.json"}
  ROOT %r = f32[2]{0} multiply(%redacted_user1, %alice)
}
)";
  const hlo::ParseResult parsed = hlo::ParseText(kText);
  ASSERT_TRUE(parsed.ok());
  Redactor redactor = MakeRedactor();
  const auto redacted = RedactModule(*parsed.module, redactor, {}, {});
  ASSERT_TRUE(redacted.has_value()) << redacted.error().ToString();
  EXPECT_EQ(redacted->text.find("alice"), std::string::npos) << redacted->text;
  EXPECT_NE(redacted->text.find("\"<path1>/train.py\""), std::string::npos) << redacted->text;
  EXPECT_NE(redacted->text.find("redacted_user1.1"), std::string::npos) << redacted->text;
  EXPECT_NE(redacted->text.find("source_line=3"), std::string::npos);
  const auto bare = RedactModule(*parsed.module, redactor, {.source = SourceLines::kDropped}, {});
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->text.find("train.py"), std::string::npos);
  EXPECT_EQ(bare->text.find("source_line"), std::string::npos);
}

// The report sent readers to inputs.npz where the bundle has none.
TEST(BundleReport, NamesInputsOnlyWhereTheBundleHasThem) {
  BundleManifest manifest;
  manifest.request.test.name = "xla-cpu";
  const MachineFacts machine;
  const RunReport report;
  const auto text = [&](std::vector<BundlePart> parts) {
    return ToMarkdown(MakeReport({.manifest = manifest,
                                  .machine = machine,
                                  .report = report,
                                  .module_text = "",
                                  .reduced_text = "",
                                  .verdict_json = "",
                                  .profile_json = "",
                                  .note = "",
                                  .out_name = "b.hlob",
                                  .parts = std::move(parts)}));
  };
  const std::string without = text({BundlePart::kModule});
  EXPECT_EQ(without.find("inputs.npz"), std::string::npos) << without;
  EXPECT_NE(without.find("the values, which are not in the bundle"), std::string::npos) << without;
  EXPECT_NE(text({BundlePart::kModule, BundlePart::kInputs}).find("use those of inputs.npz"),
            std::string::npos);
}

TEST(Document, EscapesEverything) {
  ReportDocument document{.title = "<t>", .lead = "a & b", .sections = {}};
  document.sections.push_back({.heading = "h*",
                               .paragraphs = {"@all [x](y)"},
                               .rows = {{"a|b"}},
                               .code = "```\nrm\n",
                               .code_language = "sh"});
  const std::string html = ToHtml(document), markdown = ToMarkdown(document);
  EXPECT_NE(html.find("&lt;t&gt;"), std::string::npos);
  EXPECT_NE(markdown.find("a\\|b"), std::string::npos);
  EXPECT_NE(markdown.find("&#64;all \\[x\\](y)"), std::string::npos);
  EXPECT_NE(markdown.find("````sh\n```\nrm\n````"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace hloscope::debug
