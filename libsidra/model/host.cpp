// SPDX-License-Identifier: MIT
#include "host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "check.h"

namespace sidra::format {
namespace {

// What is wrong; "": nothing.
using Text = std::string;
using Inputs = std::span<const std::byte* const>;

uint64_t elements_of(const HostArray& array) {
    uint64_t count = 1;
    for (const uint64_t size : array.shape) count *= size;
    return count;
}

// Arrays are bytes, in which no objects live.
template <typename T>
T load(const std::byte* array, uint64_t index) {
    T element;
    std::memcpy(&element, array + index * sizeof element, sizeof element);
    return element;
}

template <typename T>
void store(std::byte* array, uint64_t index, T element) {
    std::memcpy(array + index * sizeof element, &element, sizeof element);
}

// Calls visit.template operator()<T>() with the C++ type of an element; f16 and bf16 have none.
template <typename Visit>
auto with_type(Type type, Visit&& visit) {
    switch (type) {
        case Type::U8:
        case Type::Bool:
            return visit.template operator()<uint8_t>();
        case Type::S8:
            return visit.template operator()<int8_t>();
        case Type::S16:
            return visit.template operator()<int16_t>();
        case Type::S32:
            return visit.template operator()<int32_t>();
        case Type::S64:
            return visit.template operator()<int64_t>();
        default:
            return visit.template operator()<float>();
    }
}

bool is_number(Type type) { return type != Type::Bool && type != Type::F16 && type != Type::BF16; }
bool is_integer(Type type) { return is_number(type) && type != Type::F32; }
bool is_index(Type type) { return type == Type::S32 || type == Type::S64; }

int64_t index_at(const HostArray& array, const std::byte* values, uint64_t i) {
    return array.type == Type::S32 ? load<int32_t>(values, i) : load<int64_t>(values, i);
}

Text check_counts(const HostCall& call, size_t inputs, size_t parameters) {
    if (call.inputs.size() != inputs) return fmt::format("it has {} inputs, must have {}", call.inputs.size(), inputs);
    if (call.parameters.size() != parameters)
        return fmt::format("it has {} parameters, must have {}", call.parameters.size(), parameters);
    return {};
}

// ---- scatter: rows of an array, of which some are replaced by updates, or combined with them

enum Reduction : int64_t { kReplace, kAdd, kMultiply, kMaximum, kMinimum, kReductions };

Text check_scatter(const HostCall& call) {
    if (Text found = check_counts(call, 3, 1); !found.empty()) return found;
    const auto &data = call.inputs[0], &indices = call.inputs[1], &updates = call.inputs[2];
    if (data.shape.size() != 2 || indices.shape.size() != 1 || updates.shape.size() != 2 ||
        updates.shape[0] != indices.shape[0] || updates.shape[1] != data.shape[1] || call.output.shape != data.shape)
        return "data (input 0) and output must be of rows x columns, indices of one number, and updates of as many "
               "rows as there are indices";
    if (updates.type != data.type || call.output.type != data.type)
        return "data, updates and output must be of one type";
    if (!is_index(indices.type)) return "the indices must be of type s32 or s64";
    if (call.parameters[0] < 0 || call.parameters[0] >= kReductions)
        return fmt::format("the reduction is {}, which does not exist", call.parameters[0]);
    if (call.parameters[0] != kReplace && !is_number(data.type)) return "elements of this type cannot be combined";
    return {};
}

template <typename T>
T combine(int64_t reduction, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (reduction == kAdd) return a + b;
        if (reduction == kMultiply) return a * b;
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    } else {
        if (reduction == kAdd) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        if (reduction == kMultiply) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
    return reduction == kMaximum ? std::max(a, b) : std::min(a, b);
}

Text run_scatter(const HostCall& call, Inputs inputs, std::byte* output) {
    const auto& [data, indices, updates] = std::tie(call.inputs[0], call.inputs[1], call.inputs[2]);
    const uint64_t columns = data.shape[1], row = columns * type_size(data.type);
    const auto height = static_cast<int64_t>(data.shape[0]);
    if (const uint64_t bytes = bytes_of(data); bytes != 0) std::memcpy(output, inputs[0], bytes);
    for (uint64_t i = 0; i < indices.shape[0]; ++i) {
        int64_t index = index_at(indices, inputs[1], i);
        if (index < -height || index >= height)
            return fmt::format("index {} is {}, but there are {} rows", i, index, height);
        if (index < 0) index += height;
        if (row == 0) continue;
        std::byte* const to = output + static_cast<uint64_t>(index) * row;
        const std::byte* const from = inputs[2] + i * row;
        if (call.parameters[0] == kReplace) {
            std::memcpy(to, from, row);
            continue;
        }
        with_type(data.type, [&]<typename T>() {
            for (uint64_t c = 0; c < columns; ++c)
                store(to, c, combine(call.parameters[0], load<T>(to, c), load<T>(from, c)));
        });
    }
    return {};
}

// ---- power: integers to the power of other numbers

Text check_power(const HostCall& call) {
    if (Text found = check_counts(call, 2, 0); !found.empty()) return found;
    const auto &base = call.inputs[0], &exponent = call.inputs[1];
    if (!is_integer(base.type) || call.output.type != base.type) return "base and output must be integers of one type";
    if (!is_number(exponent.type)) return "the exponent must be of a type of numbers";
    if (exponent.shape != base.shape || call.output.shape != base.shape)
        return "base, exponent and output must have one shape";
    return {};
}

// Towards zero, saturated; 0 for NaN.
template <typename T>
T saturated(double number) {
    if (std::isnan(number)) return 0;
    if (number >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (number <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(number);
}

// Products of integers wrap; other powers are those of real numbers, towards zero.
template <typename T, typename Exponent>
T power(T base, Exponent exponent) {
    if constexpr (std::is_integral_v<Exponent>)
        if (exponent >= 0) {
            uint64_t result = 1, square = static_cast<uint64_t>(base);
            for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1, square *= square)
                if ((left & 1) != 0) result *= square;
            return static_cast<T>(result);
        }
    return saturated<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

Text run_power(const HostCall& call, Inputs inputs, std::byte* output) {
    with_type(call.output.type, [&]<typename T>() {
        with_type(call.inputs[1].type, [&]<typename Exponent>() {
            if constexpr (std::is_integral_v<T>)
                for (uint64_t i = 0; i < elements_of(call.output); ++i)
                    store(output, i, power(load<T>(inputs[0], i), load<Exponent>(inputs[1], i)));
        });
    });
    return {};
}

// ---- determinant: of square matrices

Text check_determinant(const HostCall& call) {
    if (Text found = check_counts(call, 1, 0); !found.empty()) return found;
    const auto& shape = call.inputs[0].shape;
    if (shape.size() != 3 || shape[1] != shape[2] || call.output.shape != std::vector{shape[0]})
        return "the input must be of matrices x rows x columns, with as many rows as columns, and the output of "
               "matrices";
    if (call.inputs[0].type != Type::F32 || call.output.type != Type::F32) return "the arrays must be of type f32";
    return {};
}

// By elimination, with the largest pivot of each column.
double determinant(std::vector<double>& matrix, uint64_t n) {
    double product = 1;
    for (uint64_t k = 0; k < n; ++k) {
        uint64_t pivot = k;
        for (uint64_t row = k + 1; row < n; ++row)
            if (std::fabs(matrix[row * n + k]) > std::fabs(matrix[pivot * n + k])) pivot = row;
        if (matrix[pivot * n + k] == 0) return 0;
        if (pivot != k) {
            std::swap_ranges(&matrix[k * n], &matrix[k * n] + n, &matrix[pivot * n]);
            product = -product;
        }
        product *= matrix[k * n + k];
        for (uint64_t row = k + 1; row < n; ++row) {
            const double factor = matrix[row * n + k] / matrix[k * n + k];
            for (uint64_t column = k; column < n; ++column) matrix[row * n + column] -= factor * matrix[k * n + column];
        }
    }
    return product;
}

Text run_determinant(const HostCall& call, Inputs inputs, std::byte* output) {
    if (elements_of(call.output) == 0) return {};
    const uint64_t n = call.inputs[0].shape[1];
    std::vector<double> matrix(n * n);
    for (uint64_t i = 0; i < call.output.shape[0]; ++i) {
        for (uint64_t at = 0; at < matrix.size(); ++at)
            matrix[at] = static_cast<double>(load<float>(inputs[0], i * n * n + at));
        store(output, i, static_cast<float>(determinant(matrix, n)));
    }
    return {};
}

// ---- fourier: the discrete Fourier transform of rows of complex numbers

Text check_fourier(const HostCall& call) {
    if (Text found = check_counts(call, 1, 1); !found.empty()) return found;
    const auto& shape = call.inputs[0].shape;
    if (shape.size() != 3 || shape[2] != 2 || call.output.shape != shape)
        return "input and output must be of rows x columns x 2, the last of which are real and imaginary parts";
    if (call.inputs[0].type != Type::F32 || call.output.type != Type::F32) return "the arrays must be of type f32";
    if (call.parameters[0] != 0 && call.parameters[0] != 1)
        return fmt::format("the direction is {}, must be 0 or 1", call.parameters[0]);
    return {};
}

using Complex = std::complex<double>;

// Powers of a root of unity whose period is n.
std::vector<Complex> powers_of_root(uint64_t n, bool inverse) {
    std::vector<Complex> roots(n);
    for (uint64_t i = 0; i < n; ++i)
        roots[i] =
            std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
    return roots;
}

// Transforms `n` numbers that are `step` apart: by the smallest prime factor of n, the transforms of the interleaved
// parts are combined. roots: of unity, the powers of one whose period is roots.size(), a multiple of n.
void transform(const Complex* from, uint64_t n, uint64_t step, std::span<const Complex> roots, Complex* to) {
    if (n == 1) {
        *to = *from;
        return;
    }
    uint64_t factor = 2;
    while (n % factor != 0) factor = factor * factor > n ? n : factor + 1;
    const uint64_t part = n / factor, turn = roots.size() / n;
    for (uint64_t p = 0; p < factor; ++p) transform(from + p * step, part, step * factor, roots, to + p * part);
    std::vector<Complex> column(factor);
    for (uint64_t k = 0; k < part; ++k) {
        for (uint64_t p = 0; p < factor; ++p) column[p] = to[p * part + k];
        for (uint64_t q = 0; q < factor; ++q) {
            const uint64_t frequency = q * part + k;
            Complex sum;
            for (uint64_t p = 0; p < factor; ++p) sum += column[p] * roots[frequency * p % n * turn];
            to[frequency] = sum;
        }
    }
}

// By Bluestein: a transform of any size is a convolution, which transforms of a power of two compute. With transform()
// alone, the time for a size with a large prime factor would grow with the square of that.
class Convolution {
   public:
    Convolution(uint64_t n, bool inverse)
        : size_(std::bit_ceil(2 * n - 1)),
          forth_(powers_of_root(size_, false)),
          back_(powers_of_root(size_, true)),
          chirp_(n),
          spectrum_(size_),
          a_(size_),
          b_(size_) {
        const std::vector<Complex> halves = powers_of_root(2 * n, inverse);  // the root's square has the period n
        for (uint64_t i = 0; i < n; ++i) chirp_[i] = halves[i * i % (2 * n)];
        for (uint64_t i = 0; i < n; ++i) a_[i] = a_[(size_ - i) % size_] = std::conj(chirp_[i]);
        transform(a_.data(), size_, 1, forth_, spectrum_.data());
    }
    void run(const Complex* from, Complex* to) {
        std::ranges::fill(a_, Complex());
        for (uint64_t i = 0; i < chirp_.size(); ++i) a_[i] = from[i] * chirp_[i];
        transform(a_.data(), size_, 1, forth_, b_.data());
        for (uint64_t i = 0; i < size_; ++i) b_[i] *= spectrum_[i] / static_cast<double>(size_);
        transform(b_.data(), size_, 1, back_, a_.data());
        for (uint64_t i = 0; i < chirp_.size(); ++i) to[i] = a_[i] * chirp_[i];
    }

   private:
    const uint64_t size_;
    const std::vector<Complex> forth_, back_;
    std::vector<Complex> chirp_, spectrum_, a_, b_;
};

uint64_t largest_prime_factor(uint64_t n) {
    uint64_t factor = 2;
    while (factor * factor <= n)
        if (n % factor == 0) n /= factor;
        else ++factor;
    return n;
}

Text run_fourier(const HostCall& call, Inputs inputs, std::byte* output) {
    constexpr uint64_t kFewest = 256;  // of a prime factor: about where the convolution becomes the faster one
    if (elements_of(call.output) == 0) return {};
    const uint64_t n = call.output.shape[1];
    const bool inverse = call.parameters[0] == 1;
    std::vector<Complex> roots, from(n), to(n);
    std::optional<Convolution> convolution;
    if (largest_prime_factor(n) > kFewest) convolution.emplace(n, inverse);
    else roots = powers_of_root(n, inverse);
    const double scale = inverse ? 1 / static_cast<double>(n) : 1;
    for (uint64_t row = 0; row < call.output.shape[0]; ++row) {
        const uint64_t begin = row * n * 2;
        for (uint64_t i = 0; i < n; ++i)
            from[i] = {static_cast<double>(load<float>(inputs[0], begin + 2 * i)),
                       static_cast<double>(load<float>(inputs[0], begin + 2 * i + 1))};
        if (convolution) convolution->run(from.data(), to.data());
        else transform(from.data(), n, 1, roots, to.data());
        for (uint64_t i = 0; i < n; ++i) {
            store(output, begin + 2 * i, static_cast<float>(to[i].real() * scale));
            store(output, begin + 2 * i + 1, static_cast<float>(to[i].imag() * scale));
        }
    }
    return {};
}

// ---- product: of matrices of integers

Text check_product(const HostCall& call) {
    if (Text found = check_counts(call, 2, 0); !found.empty()) return found;
    const auto &lhs = call.inputs[0], &rhs = call.inputs[1];
    if (lhs.shape.size() != 3 || rhs.shape.size() != 3 || lhs.shape[0] != rhs.shape[0] ||
        lhs.shape[2] != rhs.shape[1] || call.output.shape != std::vector{lhs.shape[0], lhs.shape[1], rhs.shape[2]})
        return "the factors must be of matrices x m x k and matrices x k x n, and the output of matrices x m x n";
    if (!is_integer(lhs.type) || rhs.type != lhs.type || call.output.type != lhs.type)
        return "factors and output must be integers of one type";
    return {};
}

Text run_product(const HostCall& call, Inputs inputs, std::byte* output) {
    const auto& lhs = call.inputs[0].shape;
    const uint64_t m = lhs[1], k = lhs[2], n = call.output.shape[2];
    if (elements_of(call.output) == 0) return {};
    std::vector<uint64_t> row(n);  // sums wrap
    with_type(call.output.type, [&]<typename T>() {
        for (uint64_t i = 0; i < lhs[0] * m; ++i) {
            std::ranges::fill(row, 0);
            for (uint64_t j = 0; j < k; ++j) {
                const auto left = static_cast<uint64_t>(load<T>(inputs[0], i * k + j));
                const std::byte* const right = inputs[1] + (i / m * k + j) * n * sizeof(T);
                for (uint64_t c = 0; c < n; ++c) row[c] += left * static_cast<uint64_t>(load<T>(right, c));
            }
            for (uint64_t c = 0; c < n; ++c) store(output, i * n + c, static_cast<T>(row[c]));
        }
    });
    return {};
}

// ---- ngrams: how often each sequence of a pool is in a row of numbers

// The parameters: shortest, longest, largest skip, and where the sequences of each length begin in the pool.
struct Ngrams {
    uint64_t shortest, longest, skip;
    std::span<const int64_t> starts;
    uint64_t end_of(size_t length, uint64_t pool) const {
        return length < starts.size() ? static_cast<uint64_t>(starts[length]) : pool;
    }
};

Ngrams ngrams_of(const HostCall& call) {
    const auto parameter = [&](size_t i) { return static_cast<uint64_t>(call.parameters[i]); };
    return {parameter(0), parameter(1), parameter(2), std::span(call.parameters).subspan(3)};
}

Text check_ngrams(const HostCall& call) {
    if (call.parameters.size() < 4)
        return fmt::format("it has {} parameters, must have at least 4", call.parameters.size());
    if (Text found = check_counts(call, 3, call.parameters.size()); !found.empty()) return found;
    const auto &rows = call.inputs[0], &pool = call.inputs[1], &columns = call.inputs[2];
    if (rows.shape.size() != 2 || pool.shape.size() != 1 || columns.shape.size() != 1 ||
        call.output.shape.size() != 2 || call.output.shape[0] != rows.shape[0])
        return "the input must be of rows x numbers, pool and columns of one dimension, and the output of rows x "
               "columns";
    if (!is_index(rows.type) || pool.type != rows.type || !is_index(columns.type) || call.output.type != Type::F32)
        return "the numbers must be s32 or s64 as those of the pool, the columns s32 or s64, and the output f32";
    const Ngrams ngrams = ngrams_of(call);
    if (std::ranges::any_of(call.parameters, [](int64_t a) { return a < 0; }) || ngrams.shortest == 0 ||
        ngrams.shortest > ngrams.longest || ngrams.longest > ngrams.starts.size())
        return fmt::format("its lengths are from {} to {}, of {} that the pool has", ngrams.shortest, ngrams.longest,
                           ngrams.starts.size());
    uint64_t sequences = 0;
    for (size_t length = 1; length <= ngrams.starts.size(); ++length) {
        const auto begin = static_cast<uint64_t>(ngrams.starts[length - 1]);
        const uint64_t end = ngrams.end_of(length, pool.shape[0]);
        if (begin > end || end > pool.shape[0] || (end - begin) % length != 0)
            return fmt::format("the pool of {} numbers has no sequences of {} from {} to {}", pool.shape[0], length,
                               begin, end);
        sequences += (end - begin) / length;
    }
    if (sequences != columns.shape[0])
        return fmt::format("the pool has {} sequences, but there are {} columns", sequences, columns.shape[0]);
    return {};
}

Text run_ngrams(const HostCall& call, Inputs inputs, std::byte* output) {
    const auto& [rows, pool, columns] = std::tie(call.inputs[0], call.inputs[1], call.inputs[2]);
    const Ngrams ngrams = ngrams_of(call);
    const uint64_t size = rows.shape[1], width = call.output.shape[1];
    std::map<std::vector<int64_t>, uint64_t> known;  // the column of each sequence
    uint64_t sequence = 0;
    for (size_t length = 1; length <= ngrams.starts.size(); ++length)
        for (auto at = static_cast<uint64_t>(ngrams.starts[length - 1]); at < ngrams.end_of(length, pool.shape[0]);
             at += length) {
            std::vector<int64_t> numbers;
            for (uint64_t i = 0; i < length; ++i) numbers.push_back(index_at(pool, inputs[1], at + i));
            const int64_t column = index_at(columns, inputs[2], sequence);
            if (column < 0 || static_cast<uint64_t>(column) >= width)
                return fmt::format("column {} is {}, but the output has {}", sequence, column, width);
            known[std::move(numbers)] = static_cast<uint64_t>(column);
            ++sequence;
        }
    for (uint64_t i = 0; i < rows.shape[0] * width; ++i) store(output, i, 0.0f);
    std::vector<int64_t> numbers;
    for (uint64_t row = 0; row < rows.shape[0]; ++row)
        for (uint64_t length = ngrams.shortest; length <= std::min(ngrams.longest, size); ++length) {
            if (ngrams.end_of(length, pool.shape[0]) == static_cast<uint64_t>(ngrams.starts[length - 1])) continue;
            for (uint64_t skip = 0; skip <= (length == 1 ? 0 : ngrams.skip); ++skip) {
                if (skip >= size || (length - 1) * (skip + 1) >= size) break;
                const uint64_t reach = (length - 1) * (skip + 1);
                for (uint64_t first = 0; first + reach < size; ++first) {
                    numbers.clear();
                    for (uint64_t i = 0; i < length; ++i)
                        numbers.push_back(index_at(rows, inputs[0], row * size + first + i * (skip + 1)));
                    if (const auto found = known.find(numbers); found != known.end()) {
                        const uint64_t at = row * width + found->second;
                        store(output, at, load<float>(output, at) + 1);
                    }
                }
            }
        }
    return {};
}

constexpr HostFunction kFunctions[] = {
    {"determinant", check_determinant, run_determinant},
    {"fourier", check_fourier, run_fourier},
    {"ngrams", check_ngrams, run_ngrams},
    {"power", check_power, run_power},
    {"product", check_product, run_product},
    {"scatter", check_scatter, run_scatter},
};

HostArray array_of(const Array& from) {
    HostArray to{from.type(), {}};
    if (from.shape() != nullptr) to.shape.assign(from.shape()->begin(), from.shape()->end());
    return to;
}

}  // namespace

const HostFunction* find_host_function(std::string_view name) {
    const auto* const found = std::ranges::find(kFunctions, name, &HostFunction::name);
    return found == std::end(kFunctions) ? nullptr : found;
}

uint64_t bytes_of(const HostArray& array) { return elements_of(array) * type_size(array.type); }

HostCall host_call(const Host& host) {
    HostCall call;
    for (const Array* input : *host.inputs()) call.inputs.push_back(array_of(*input));
    call.output = array_of(*host.output());
    if (host.parameters() != nullptr) call.parameters.assign(host.parameters()->begin(), host.parameters()->end());
    return call;
}

}  // namespace sidra::format
