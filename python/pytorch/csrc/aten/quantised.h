// SPDX-License-Identifier: MIT
// What the quantised layers of torch.ao have on the devices.
#ifndef SIDRA_PYTORCH_QUANTISED_H
#define SIDRA_PYTORCH_QUANTISED_H

#include <c10/core/Device.h>

namespace sidra::pytorch {

// Nothing tells when such a layer ends. Frees what those that have ended have on the device, and so on its crossbars.
void drop_ended_layers(c10::DeviceIndex index);

}  // namespace sidra::pytorch

#endif
