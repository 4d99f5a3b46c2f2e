// SPDX-License-Identifier: MIT
// The chips on the PCI bus, and the way to their registers: through the driver while one is bound, else by their BAR.
#ifndef SIDRA_REG_FUNCTION_H
#define SIDRA_REG_FUNCTION_H

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "registers.h"

namespace sidra::reg {

// Something that a person must hear about.
class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

struct Function {
    std::string address;  // 0000:00:04.0
    std::string driver;   // "": none
    std::string folder;   // its files in sysfs
};

// In the order of their addresses.
std::vector<Function> find_functions();

class Registers {
   public:
    Registers() = default;
    Registers(const Registers&) = delete;
    Registers& operator=(const Registers&) = delete;
    virtual ~Registers() = default;
    virtual bool readable(const Register& known) const = 0;
    virtual uint64_t read(const Register& known) = 0;
    virtual void write(const Register& known, uint64_t value) = 0;
    virtual std::string way() const = 0;
};

std::unique_ptr<Registers> open_registers(const Function& function);

}  // namespace sidra::reg

#endif
