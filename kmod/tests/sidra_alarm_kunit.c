// SPDX-License-Identifier: GPL-2.0-only
/* KUnit test of the alarms in a telemetry page; included by sidra_alarm.c. */
#include <kunit/test.h>

#define HAS_THERMAL	SIDRA_TELEMETRY_HAS_THERMAL
#define HAS_POWER	SIDRA_TELEMETRY_HAS_POWER
#define HAS_LIMITS	SIDRA_TELEMETRY_HAS_LIMITS
#define HAS_ALL	(HAS_THERMAL | HAS_POWER | HAS_LIMITS)
#define ON_MAX	BIT(SIDRA_ALARM_MAX)
#define ON_CRIT	BIT(SIDRA_ALARM_CRIT)
#define ON_CAP	BIT(SIDRA_ALARM_CAP)

static void alarms_are_those_of_the_page(struct kunit *test)
{
	static const struct {
		u64 valid;
		s32 temperature_mc;
		u32 power_mw;
		unsigned long before, after;
	} scenes[] = {
		{ HAS_ALL, 94999, 500, 0, 0 },
		{ HAS_ALL, 95000, 500, 0, ON_MAX },
		{ HAS_ALL, 104999, 501, 0, ON_MAX | ON_CAP },
		{ HAS_ALL, 105000, 501, 0, ON_MAX | ON_CRIT | ON_CAP },
		{ HAS_ALL, -55000, 0, ON_MAX | ON_CRIT | ON_CAP, 0 },
		{ HAS_ALL, 95000, 500, ON_MAX | ON_CRIT | ON_CAP, ON_MAX },
		/* An alarm whose fields are not valid keeps its state. */
		{ 0, 0, 0, 0, 0 },
		{ 0, 0, 0, ON_MAX | ON_CRIT | ON_CAP, ON_MAX | ON_CRIT | ON_CAP },
		{ HAS_THERMAL | HAS_POWER, 200000, 9999, 0, 0 },
		{ HAS_LIMITS, 200000, 9999, ON_CRIT, ON_CRIT },
		{ HAS_THERMAL | HAS_LIMITS, 105000, 0, ON_CAP, ON_MAX | ON_CRIT | ON_CAP },
		{ HAS_POWER | HAS_LIMITS, 200000, 501, ON_MAX, ON_MAX | ON_CAP },
		{ HAS_POWER | HAS_LIMITS, 200000, 500, ON_MAX | ON_CAP, ON_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		struct sidra_telemetry page = {
			.valid = cpu_to_le64(scenes[i].valid),
			.temperature_mc = cpu_to_le32(scenes[i].temperature_mc),
			.temperature_max_mc = cpu_to_le32(95000),
			.temperature_crit_mc = cpu_to_le32(105000),
			.power_mw = cpu_to_le32(scenes[i].power_mw),
			.power_limit_mw = cpu_to_le32(500),
		};

		KUNIT_EXPECT_EQ_MSG(test, sidra_alarms_on(&page, scenes[i].before), scenes[i].after,
				    "scene %u", i);
	}
}

static struct kunit_case alarm_cases[] = {
	KUNIT_CASE(alarms_are_those_of_the_page),
	{}
};

static struct kunit_suite alarm_suite = {
	.name = "sidra_alarm",
	.test_cases = alarm_cases,
};

kunit_test_suite(alarm_suite);
