// SPDX-License-Identifier: MIT
#include "sweep.h"

#include <filesystem>
#include <sstream>

namespace sidra::test {
namespace {

const std::string kDebugfs = "/sys/kernel/debug/";
constexpr const char* kKinds[] = {"failslab", "fail_page_alloc", "fail_usercopy"};
// Where x86-64 has the code of modules, of which the debug kernel has none but the driver.
constexpr const char *kModulesBegin = "0xffffffffa0000000", *kModulesEnd = "0xffffffffff000000";
constexpr int kMany = 1'000'000;     // refusals that are counted down from
constexpr unsigned kEndless = 3000;  // a sweep that gets so far does not end
constexpr unsigned kTriesMost = 4;   // of a round again, if its refusal did not matter

std::string text_of(int fd) {
    std::string text;
    char piece[16384];
    for (ssize_t bytes; (bytes = read(fd, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(bytes));
    return text;
}

std::string text_of(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string text = text_of(fd);
    close(fd);
    return text;
}

// A file of the kernel's that is read after each round, and stays open: to open it takes longer than to read it.
class Gauge {
   public:
    explicit Gauge(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        EXPECT_GE(fd_, 0) << path;
    }
    ~Gauge() { close(fd_); }
    Gauge(const Gauge&) = delete;
    Gauge& operator=(const Gauge&) = delete;
    std::string text() const {
        lseek(fd_, 0, SEEK_SET);
        return text_of(fd_);
    }

   private:
    const int fd_;
};

void set(const std::string& attribute, const std::string& value) {
    EXPECT_TRUE(write_text(kDebugfs + attribute, value)) << attribute << ": " << std::strerror(errno);
}

// All but those of the kernel's watchers, which ask for memory with each allocation and mapping of the driver's, and
// some of which switch themselves off when they do not get it. The watcher of DMA mappings keeps its notes where the
// driver has its handles, in radix trees: those are refused only on demand (SIDRA_FAIL_TREES), at a place that maps
// nothing.
void choose_caches() {
    const std::string folder = "/sys/kernel/slab/";
    if (text_of(kDebugfs + "failslab/cache-filter")[0] != 'Y')  // another process has done it
        for (const auto& cache : std::filesystem::directory_iterator(folder)) {
            const std::string name = cache.path().filename();
            if (name.rfind("kmemleak", 0) != 0 && name.rfind("debug_objects", 0) != 0)
                write_text(folder + name + "/failslab", "1");
        }
    EXPECT_TRUE(write_text(folder + "radix_tree_node/failslab", getenv("SIDRA_FAIL_TREES") ? "1" : "0"));
    set("failslab/cache-filter", "Y");
}

// ---- What is there, which must be the same after each round ----

using Accounts = std::map<std::string, std::string>;

std::string field(const std::string& text, const std::string& name) {
    const size_t at = text.find(name);
    if (at == std::string::npos) return "none";
    return text.substr(at + name.size(), text.find('\n', at) - at - name.size());
}

class Surroundings {
   public:
    Accounts accounts() const {
        Accounts all;
        const Card card;
        const std::string folder = kDebugfs + "accel/" + card.name() + '/';
        for (const char* file : {"contexts", "queues", "page_tables"}) all[file] = text_of(folder + file);
        all["references to the module"] = references();
        all["pinned by this process"] = field(status_.text(), "VmPin:");
        all["pinned pages"] = std::to_string(pinned());
        all["DMA buffers"] = field(buffers_.text(), "Total ");
        add_what_the_driver_says(&all);
        return all;
    }

    // Pages, of all processes.
    long long pinned() const {
        // Each CPU counts for itself; this makes the kernel add them up.
        EXPECT_TRUE(write_text("/proc/sys/vm/stat_refresh", "1"));
        const std::string pages = pages_.text();
        return std::stoll(field(pages, "nr_foll_pin_acquired ")) - std::stoll(field(pages, "nr_foll_pin_released "));
    }

    static std::string references() { return text_of("/sys/module/sidra/refcnt"); }

    // Other devices map memory, too, and not for long: what counts is whether it gets as low as it was.
    static long dma_mappings() {
        return std::stol(text_of(kDebugfs + "dma-api/nr_total_entries")) -
               std::stol(text_of(kDebugfs + "dma-api/num_free_entries"));
    }

   private:
    static void add_what_the_driver_says(Accounts* all) {
        const Node node;
        const sidra_query_status query = status_of(node);
        (*all)["free crossbars"] = std::to_string(query.xbars_free);
        (*all)["free bytes of L3"] = std::to_string(query.l3_free);
        sidra_weights_entry entry;
        sidra_ioctl_weights_list list{reinterpret_cast<uintptr_t>(&entry), 1, sizeof entry, 0, 0};
        int names = 0;
        for (; node.call(SIDRA_IOCTL_WEIGHTS_LIST, list) == 0 && list.count != 0; list.count = 1) names++;
        (*all)["named weights"] = std::to_string(names);
    }

    const Gauge status_{"/proc/self/status"}, pages_{"/proc/vmstat"}, buffers_{kDebugfs + "dma_buf/bufinfo"};
};

std::set<std::string> open_files() {
    std::set<std::string> numbers;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        numbers.insert(entry.path().filename());
    // The folder itself was open meanwhile.
    std::erase_if(numbers, [](const std::string& number) { return fcntl(std::stoi(number), F_GETFD) < 0; });
    return numbers;
}

}  // namespace

// ---- Fault injection ---------------------------------------------------------------------------------------------

bool FaultInjection::available() {
    return access("/proc/thread-self/fail-nth", W_OK) == 0 && access((kDebugfs + "fail_usercopy").c_str(), X_OK) == 0;
}

FaultInjection& FaultInjection::get() {
    static FaultInjection injection;
    return injection;
}

FaultInjection::FaultInjection()
    : nth_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC)),
      log_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (const char* site = getenv("SIDRA_FAIL_SITE")) site_ = site;
    EXPECT_GE(nth_, 0);
    EXPECT_GE(log_, 0);
    lseek(log_, 0, SEEK_END);
    std::string begin = kModulesBegin, end = kModulesEnd;
    if (has_site()) {
        begin = site_;
        std::ostringstream next;
        next << "0x" << std::hex << std::stoull(site_, nullptr, 16) + 1;
        end = next.str();
    }
    for (const std::string kind : kKinds) {
        set(kind + "/probability", "0");
        set(kind + "/interval", "1");
        set(kind + "/require-start", begin);
        set(kind + "/require-end", end);
        set(kind + "/stacktrace-depth", "32");
        set(kind + "/times", std::to_string(kMany));
        set(kind + "/verbose", "2");
    }
    choose_caches();
    set("failslab/ignore-gfp-wait", "N");
    set("fail_page_alloc/ignore-gfp-wait", "N");
    set("fail_page_alloc/ignore-gfp-highmem", "N");
    set("fail_page_alloc/min-order", "0");
}

FaultInjection::~FaultInjection() {
    for (const std::string kind : kKinds) set(kind + "/probability", "0");
    close(nth_);
    close(log_);
}

void FaultInjection::begin(unsigned n) {
    if (has_site()) {
        for (const std::string kind : kKinds) set(kind + "/probability", "100");
        return;
    }
    const std::string text = std::to_string(n);
    EXPECT_EQ(pwrite(nth_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

Refusal FaultInjection::end() {
    if (has_site())
        for (const std::string kind : kKinds) set(kind + "/probability", "0");
    else EXPECT_EQ(pwrite(nth_, "0", 1, 0), 1);
    Refusal refusal;
    for (const std::string kind : kKinds) {
        const int count = kMany - std::stoi(text_of(kDebugfs + kind + "/times"));
        if (count == 0) continue;
        refusal.count += static_cast<unsigned>(count);
        refusal.kind = kind;
        refusal.memory = kind != "fail_usercopy";
        refusal.where = has_site() ? site_ : "?";
        set(kind + "/times", std::to_string(kMany));
    }
    read_log(&refusal);
    return refusal;
}

// "FAULT_INJECTION: forcing a failure.", and the call stack, of which the driver's first function counts. What is asked
// for with __GFP_NOWARN is refused without a word.
void FaultInjection::read_log(Refusal* refusal) {
    char record[8192];
    bool in_report = false;
    for (;;) {
        const ssize_t bytes = read(log_, record, sizeof record - 1);
        if (bytes < 0 && errno == EPIPE) continue;
        if (bytes < 0) return;
        record[bytes] = '\0';
        const std::string whole = record;
        const std::string line = whole.substr(whole.find(';') + 1, whole.find('\n') - whole.find(';') - 1);
        if (line.find("FAULT_INJECTION: forcing a failure") != std::string::npos) in_report = true;
        if (!in_report || line.find("? ") != std::string::npos || line.find(" [sidra]") == std::string::npos) continue;
        const size_t begin = line.find_first_not_of(' ');
        refusal->where = line.substr(begin, line.find('/', begin) - begin);
        in_report = false;
    }
}

// ---- The sweep -----------------------------------------------------------------------------------------------------

int Attempt::operator()(const std::function<int()>& call, const Answers& answers) {
    const std::set<std::string> files = open_files();
    injection_.begin(n_);
    first = call();
    refusal = injection_.end();
    if (first >= 0) return first;
    EXPECT_GT(refusal.count, 0u) << "failed with " << first << " though nothing was refused";
    EXPECT_FALSE(answers.never_fails) << first;
    EXPECT_TRUE(first == (refusal.memory ? -ENOMEM : -EFAULT) || answers.refused.count(first)) << first;
    // A file that a call has given out stays open when the answer that names it is lost: the kernel cannot take it
    // back.
    for (const std::string& number : open_files())
        if (!files.count(number)) {
            EXPECT_EQ(first, -EFAULT) << "left a file open";
            close(std::stoi(number));
        }
    const int again = call();
    EXPECT_TRUE(again >= 0 || (first == -EFAULT && answers.afterwards.count(again))) << "afterwards: " << again;
    return again;
}

void FailNth::SetUp() {
    NodeTest::SetUp();
    if (HasFatalFailure()) return;
    if (!FaultInjection::available())
        GTEST_SKIP()
            << "this kernel cannot refuse memory on demand (there is no fail-nth): the sweep is for the debug kernel";
}

void FailNth::sweep(const std::function<void(Attempt&)>& round) {
    FaultInjection& injection = FaultInjection::get();
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    {
        Attempt rehearsal(injection, 0);  // what the kernel keeps from a first time, it has then
        if (!injection.has_site()) round(rehearsal);
    }
    if (HasFailure()) return;
    // The fences of the rehearsal have gone, and nobody else is there.
    ASSERT_TRUE(eventually([] { return Surroundings::references() == "0\n"; }));
    const Surroundings surroundings;
    // Nor is memory pinned: io_uring releases the buffers of a ring some time after the ring is closed.
    ASSERT_TRUE(eventually([&] { return surroundings.pinned() == 0; }));
    const Accounts before = surroundings.accounts();
    const std::set<std::string> files = open_files();
    long mappings = surroundings.dma_mappings();
    // The kernel takes large memory page by page: in a row of refusals that are all alike, the steps become longer and
    // longer. CHECK=full takes none that is longer than 1.
    const unsigned longest = static_cast<unsigned>(rounds(16, 1));
    unsigned step = 1, last = 0, tries = 0;
    std::string last_refusal;
    for (unsigned n = 1;;) {
        ASSERT_LT(n, kEndless) << name;
        Attempt attempt(injection, n);
        round(attempt);
        const Refusal& refusal = attempt.refusal;
        const std::string said = refusal.kind + ' ' + refusal.where + ' ' + name;
        if (refusal.count) {
            std::printf("# refused %s %u %d\n", said.c_str(), n, attempt.first);
            std::fflush(stdout);
        }
        Accounts now;
        const bool same = eventually([&] { return (now = surroundings.accounts()) == before; });
        for (const auto& [account, value] : now) EXPECT_EQ(value, before.at(account)) << account << " after each round";
        EXPECT_EQ(open_files(), files);
        long now_mapped = 0;
        EXPECT_TRUE(eventually([&] { return (now_mapped = surroundings.dma_mappings()) <= mappings; }))
            << "DMA mappings leaked";
        mappings = now_mapped;
        if (HasFailure() || !same) {
            ADD_FAILURE() << "round " << n << ": " << said << ", it answered " << attempt.first;
            return;
        }
        if (injection.has_site()) break;
        // It may have been for a page of a slab, without which the kernel takes another way. A call that does not need
        // that page asks for what is to come next as number n.
        if (refusal.count && attempt.first >= 0 && tries++ < kTriesMost) continue;
        tries = 0;
        const std::string this_refusal = refusal.count ? said + std::to_string(attempt.first) : "";
        const bool alike = this_refusal == last_refusal;
        if (!alike && n > last + 1) {  // the row has ended somewhere in between
            step = 1;
            n = last + 1;
            continue;
        }
        if (!refusal.count) break;
        step = alike ? std::min(2 * step, longest) : 1;
        last_refusal = this_refusal;
        last = n;
        n += step;
    }
    Bench bench;  // a whole new user of the device is served
    expect_works(bench);
}

// ---- What calls are made on ----------------------------------------------------------------------------------------

void expect_works(Bench& bench) {
    bench.buffer.words[1] = 0x51d2a;
    bench.buffer.words[0] = 0;
    EXPECT_EQ(bench.user.wait(bench.user.push(copy(bench.buffer.va, bench.buffer.va + 8, 8))), 0);
    EXPECT_EQ(bench.buffer.words[0], 0x51d2au);
    uint64_t value = 0;
    EXPECT_EQ(bench.kernel.submit({nop()}, &value), 0);
    EXPECT_EQ(bench.kernel.wait(value), 0);
}

}  // namespace sidra::test
