//! [`PriceWindow`]: times of the week at which a model has other prices.

use super::entry::TokenPrices;

/// A moment, as far as prices depend on it: the day of the week and the minute of the day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcTime {
    /// From 1 (Monday) to 7.
    weekday: u8,
    minute: u16,
}

impl UtcTime {
    /// Of so many seconds since 1970, which began on a Thursday.
    pub fn of_unix(seconds: u64) -> Self {
        let day = (seconds / 86_400 + 3) % 7;
        let minute = seconds % 86_400 / 60;
        Self {
            weekday: u8::try_from(day).unwrap_or(0) + 1,
            minute: u16::try_from(minute).unwrap_or(0),
        }
    }
}

/// Times of the week with the prices that hold then; members that it does not give are as at other
/// times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceWindow {
    /// Minutes of the day, from and before which; the whole day when empty.
    pub(super) minutes: Vec<(u16, u16)>,
    /// Days from 1 (Monday) to 7; every day when empty.
    pub(super) weekdays: Vec<u8>,
    pub(super) prices: TokenPrices,
}

impl PriceWindow {
    pub(super) fn holds(&self, time: UtcTime) -> bool {
        let is_day = self.weekdays.is_empty() || self.weekdays.contains(&time.weekday);
        let within = |(from, before): &(u16, u16)| (*from..*before).contains(&time.minute);
        is_day && (self.minutes.is_empty() || self.minutes.iter().any(within))
    }

    /// Reads `04:00-06:00`; `24:00` is the end of the day.
    pub(super) fn parse_minutes(text: &str) -> Option<(u16, u16)> {
        let minute = |text: &str| {
            let (hours, minutes) = text.trim().split_once(':')?;
            let (hours, minutes) = (hours.parse::<u16>().ok()?, minutes.parse::<u16>().ok()?);
            let all = hours.checked_mul(60)?.checked_add(minutes)?;
            (minutes < 60 && all <= 24 * 60).then_some(all)
        };
        let (from, before) = text.split_once('-')?;
        let (from, before) = (minute(from)?, minute(before)?);
        (from < before).then_some((from, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_week() {
        // 2026-11-16 is a Monday; 1970-01-01 was a Thursday.
        let monday = 1_794_787_200;
        assert_eq!(
            UtcTime::of_unix(monday),
            UtcTime {
                weekday: 1,
                minute: 0
            }
        );
        assert_eq!(UtcTime::of_unix(0).weekday, 4);
        let sunday = UtcTime::of_unix(monday + 6 * 86_400 + 61 * 60);
        assert_eq!((sunday.weekday, sunday.minute), (7, 61));
        for (text, expected) in [
            ("04:00-06:00", Some((240, 360))),
            ("10:00-24:00", Some((600, 1440))),
            ("6:00-4:00", None),
            ("00:00-24:01", None),
            ("00:60-02:00", None),
            ("99999:00-02:00", None),
            ("4-6", None),
            ("", None),
        ] {
            assert_eq!(PriceWindow::parse_minutes(text), expected, "{text}");
        }
        let night = PriceWindow {
            minutes: vec![(0, 60)],
            weekdays: vec![1, 2],
            ..PriceWindow::default()
        };
        assert!(night.holds(UtcTime::of_unix(monday + 59 * 60)));
        assert!(!night.holds(UtcTime::of_unix(monday + 60 * 60)));
        assert!(!night.holds(sunday));
        assert!(PriceWindow::default().holds(sunday));
    }
}
